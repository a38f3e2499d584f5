"""The bank's part of upkeep: its keys; nothing of it needs tending."""

from livemem.spaces.room import Room
from livemem.store import keys

ROOM = Room(owns=keys.is_of_bank)
