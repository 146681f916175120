extension Ticket {
    /// Returns the ticket as the bytes that the worker's descriptor delivers.
    public func encoded() -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(version)
        bytes.appendInteger(incarnation)
        bytes.appendInteger(parentProcessID)
        bytes.append(isStrict ? 1 : 0)
        bytes.appendInteger(orphanGraceMilliseconds)
        bytes.appendInteger(epoch)
        bytes.appendField(secret[...])
        bytes.appendText(address)
        bytes.appendText(path)
        return bytes
    }

    /// Reads a ticket from all the bytes that the worker's descriptor delivered.
    ///
    /// - Throws: ``WireError`` when the version is not ``currentVersion``, a field is invalid, or bytes are missing or left over.
    public init(decoding bytes: [UInt8]) throws(WireError) {
        var reader = ByteReader(bytes, to: bytes.count)
        let version = try reader.integer(UInt8.self)
        guard version == Self.currentVersion else {
            throw WireError(.badVersion, "the ticket's version is \(version), not \(Self.currentVersion)", offset: 0)
        }
        let incarnation = try reader.integer(UInt32.self)
        let parentProcessID = try reader.integer(Int32.self)
        let isStrict = try reader.flag("isStrict")
        let orphanGrace = try reader.integer(UInt32.self)
        let epoch = try reader.integer(UInt32.self)
        let secretOffset = reader.position
        let secret = try reader.field()
        guard secret.count == Self.secretLength else {
            throw WireError(.malformed, "the secret has \(secret.count) bytes, not \(Self.secretLength)", offset: secretOffset)
        }
        let address = try reader.text(limit: FrameLimits.default.maximumNameLength)
        let path = try reader.text(limit: FrameLimits.default.maximumNameLength)
        guard reader.remaining == 0 else {
            throw WireError(.trailingBytes, "\(reader.remaining) bytes follow the ticket", offset: reader.position)
        }
        self.init(
            version: version,
            address: address,
            secret: Array(secret),
            path: path,
            incarnation: incarnation,
            parentProcessID: parentProcessID,
            isStrict: isStrict,
            orphanGraceMilliseconds: orphanGrace,
            epoch: epoch
        )
    }
}
