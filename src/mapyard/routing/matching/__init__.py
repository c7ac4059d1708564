"""GPS traces onto roads: jumps and stays, the engine's matcher, likelier ways, doubts."""
