"""Maps as pictures: the style and the tiles that browsers draw, drawn by the server."""
