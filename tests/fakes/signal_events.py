"""What a signal-cli daemon tells of arrivals, as its JSON looks."""

from typing import Any

from tests.fakes.signal_daemon import NUMBER

ANNA = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
ANNAS_NUMBER = "+4917099999999"
BERND = "550e8400-e29b-41d4-a716-446655440000"
GROUP = "Pmpi+EfPWmsxiomLe9Nx2XF9HOE483p6iKiFj65iMwI="
# Stands in a text for a person who is mentioned
MENTIONED = "\ufffc"
SENT_MS = 1_799_999_990_000


def envelope(sender: str = ANNA, timestamp: int = SENT_MS, **content: Any) -> dict[str, Any]:
    return {
        "account": NUMBER,
        "envelope": {
            "source": ANNAS_NUMBER,
            "sourceNumber": ANNAS_NUMBER if sender == ANNA else None,
            "sourceUuid": sender,
            "sourceName": "Anna",
            "sourceDevice": 1,
            "timestamp": timestamp,
            "serverReceivedTimestamp": timestamp + 20,
            "serverDeliveredTimestamp": timestamp + 40,
            **content,
        },
    }


def message(
    text: str | None, sender: str = ANNA, timestamp: int = SENT_MS, **more: Any
) -> dict[str, Any]:
    return envelope(sender, timestamp, dataMessage=data(text, timestamp, **more))


def in_group(
    text: str | None, sender: str = ANNA, timestamp: int = SENT_MS, **more: Any
) -> dict[str, Any]:
    info = {"groupId": GROUP, "groupName": "Workshop", "revision": 3, "type": "DELIVER"}
    return message(text, sender, timestamp, groupInfo=info, **more)


def data(text: str | None, timestamp: int = SENT_MS, **more: Any) -> dict[str, Any]:
    return {
        "timestamp": timestamp,
        "message": text,
        "expiresInSeconds": 0,
        "isExpirationUpdate": False,
        "viewOnce": False,
        **more,
    }


def mention(start: int, number: str | None = NUMBER, uuid: str | None = None) -> dict[str, Any]:
    return {"name": number or uuid, "number": number, "uuid": uuid, "start": start, "length": 1}


def synced(text: str, destination: str | None, own: str, **more: Any) -> dict[str, Any]:
    """What the account's owner wrote on another device."""
    sent = {**data(text), "destinationUuid": destination, "destinationNumber": None, **more}
    arrival = envelope(own, syncMessage={"sentMessage": sent})
    arrival["envelope"]["sourceNumber"] = NUMBER
    return arrival
