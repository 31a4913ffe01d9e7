# Words as Sensirion's sensors send them, each of two bytes and a checksum, which Aosong uses too.


def crc8(data):
    # X^8 + X^5 + X^4 + 1, highest bit first, beginning with 0xFF
    crc = 0xFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc << 1 ^ 0x31) & 0xFF if crc & 0x80 else crc << 1
    return crc


def words(data):
    # None where one of them is damaged
    found = []
    for at in range(0, len(data), 3):
        if crc8(data[at : at + 2]) != data[at + 2]:
            return None
        found.append(data[at] << 8 | data[at + 1])
    return found


def climate(temperature, humidity):
    # Hundredths of a degree and of a percent, rounded, of two words
    return (
        (17500 * temperature + 32767) // 65535 - 4500,
        (10000 * humidity + 32767) // 65535,
    )
