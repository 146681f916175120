/// The bytes of SP's pair protocol, version 0, on a stream socket.
///
/// Each side first sends 8 bytes of greeting; then every message is `0x01`, its length as 64-bit big-endian number, and its body.
/// Sources: nanomsg's RFC "sp-tcp-mapping-01" for the greeting, and nng's IPC transport for the message header.
package enum PairFraming {
    /// Zero, "SP", version 0, protocol 0x0010 (pair 0) big-endian, two reserved zeros.
    package static let greeting: [UInt8] = [0x00, 0x53, 0x50, 0x00, 0x00, 0x10, 0x00, 0x00]

    /// A message's header: its type and its length.
    package static let headerLength = 9
    private static let messageType: UInt8 = 1

    package enum Header: Equatable {
        /// Fewer bytes than a header.
        case incomplete
        case message(length: Int)
        case invalid(NNGError.Code)
    }

    /// Reads the header at the front of `bytes`.
    ///
    /// A length over the limit is refused here, before memory is allocated for it.
    @inline(__always)
    package static func parse(_ bytes: UnsafeRawBufferPointer, maximum: Int) -> Header {
        guard bytes.count >= headerLength else {
            // The type is checked as soon as it is there: a peer that speaks something else may never send nine bytes.
            return bytes.isEmpty || bytes[0] == messageType ? .incomplete : .invalid(.protocolError)
        }
        guard bytes[0] == messageType else { return .invalid(.protocolError) }
        let length = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 1, as: UInt64.self))
        guard length <= UInt64(maximum) else { return .invalid(.messageTooLarge) }
        return .message(length: Int(length))
    }

    /// Returns a message with its header.
    static func framed(_ body: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: headerLength + body.count) { bytes, count in
            writeHeader(of: body.count, to: UnsafeMutableRawBufferPointer(bytes))
            _ = UnsafeMutableBufferPointer(rebasing: bytes[headerLength...]).update(fromContentsOf: body)
            count = headerLength + body.count
        }
    }

    @inline(__always)
    package static func writeHeader(of length: Int, to bytes: UnsafeMutableRawBufferPointer) {
        bytes[0] = messageType
        bytes.storeBytes(of: UInt64(length).bigEndian, toByteOffset: 1, as: UInt64.self)
    }
}
