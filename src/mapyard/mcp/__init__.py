"""Mapyard for assistants: a server of the Model Context Protocol.

tools.py       the tools: what each is for, what it takes, and how it is answered
describe.py    answers as short texts with names and distances that people can read
server.py      the server of the official package, over stdio and HTTP
"""
