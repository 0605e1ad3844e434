"""`chatting_monitor.py ADDRESS COMMAND …`: `monitor`, whose chats are a server on loopback."""

import sys

from monitor.cli import main
from monitor.notify import discord, slack, telegram

if __name__ == "__main__":
    address = sys.argv.pop(1)
    slack.API, discord.API, telegram.API = f"{address}/slack", f"{address}/discord", address
    main()
