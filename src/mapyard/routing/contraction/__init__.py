"""Matrices out of a contraction of the road graph, with the engine's own costs.

`build.build_tables` prepares a graph's modes and checks them against routes; `tables.Tables` opens
them; `table.ModeTable.compute` works out a matrix. From the ground: `tiles` reads the engine's
graph, `costs`, `car`, `foot` and `bicycle` price it, `turns` and `vertices` make a plain directed
graph of it, `order` and `hierarchy` contract and search that one, `table` goes from places on
roads to cells.
"""
