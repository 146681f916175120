import WireProtocol

/// The conversion of errors between processes.
///
/// A handler's error stays encoded until it reaches the asker, through all processes between: only the asker looks up its type. If the
/// message declares the type, or the asker's program has the very same one, the error is thrown as it was, else as `RemoteError`.
///
/// What an error says of itself is for people: a longer text than ``textLimit`` is cut where it leaves a process and where it arrives, and in a
/// ``RemoteError`` that is made in this process.
enum Failures {
    /// The number of bytes of a text of an error that are passed on.
    static let textLimit = 64 << 10

    /// Returns a text of an error, or its beginning and the number of bytes that it has had.
    static func bounded(_ text: String) -> String {
        let count = text.utf8.count
        guard count > textLimit else { return text }
        let end = "… (the beginning of \(count) bytes)"
        var beginning = text.utf8.prefix(textLimit - end.utf8.count)
        // No part of a character stays.
        while beginning.last.map({ $0 & 0xC0 == 0x80 }) == true { beginning.removeLast() }
        if beginning.last.map({ $0 >= 0xC0 }) == true { beginning.removeLast() }
        return String(Substring(beginning)) + end
    }

    /// Returns the form of a handler's error that the asker gets: the same in one process as between two.
    static func crossable(_ error: any Error) -> any Error {
        switch error {
        case is CoordinatorError, is RemoteError, is CancellationError: error
        case is any Error & Codable: error
        default: RemoteError(type: TypeNames.name(of: type(of: error)), description: bounded(String(describing: error)))
        }
    }

    /// Returns the form of an error that a handler has thrown: the code of another coordinator's refusal proves nothing about this one.
    static func thrownByHandler(_ error: any Error) -> any Error {
        (error as? CoordinatorError)?.doubted ?? crossable(error)
    }

    /// Returns an error as it crosses to another process.
    static func encode(_ error: any Error, codec: PayloadCodec) -> Failure { encodedWhole(error, codec: codec).bounded }

    private static func encodedWhole(_ error: any Error, codec: PayloadCodec) -> Failure {
        switch error {
        case let error as CoordinatorError:
            let flag: [UInt8] = error.maybeExecuted ? [1] : []
            return Failure(code: error.code.description, type: "", message: error.message, payload: flag[...])
        case let error as RemoteError:
            return error.encoded?.failure(in: codec) ?? Failure(code: "", type: error.type, message: error.description, payload: [])
        case is CancellationError:
            return Failure(code: "cancelled", type: "", message: "the handler was cancelled", payload: [])
        case let error as any Error & Codable:
            let type = Swift.type(of: error)
            let payload = (try? PayloadCoder.encode(error, as: codec)) ?? []
            return Failure(code: "", type: ErrorTypes.wireName(of: type), message: String(describing: error), payload: payload)
        default:
            return Failure(code: "", type: TypeNames.name(of: type(of: error)), message: String(describing: error), payload: [])
        }
    }

    /// Decodes the error in a frame; a handler's error stays encoded, see ``restored(_:declared:)``.
    static func decode(_ failure: Failure, codec: PayloadCodec) -> any Error {
        if failure.code == "cancelled" { return CancellationError() }
        let failure = failure.bounded
        if !failure.code.isEmpty {
            let code = CoordinatorError.Code(failure.code) ?? .unsupported
            return CoordinatorError(code, failure.message, maybeExecuted: failure.payload.first == 1)
        }
        let encoded = RemoteError.Encoded(failure: failure, codec: codec)
        return RemoteError(type: ErrorTypes.plainName(failure.type), description: failure.message, encoded: encoded)
    }

    /// Returns the error as its asker gets it: as it was thrown, if this program has the type.
    ///
    /// - Parameter declared: The types that the message declares.
    static func restored(_ error: any Error, declared: @autoclosure () -> [any ResponderError.Type] = []) -> any Error {
        guard let encoded = (error as? RemoteError)?.encoded else { return error }
        let name = encoded.failure.type
        guard let type = ErrorTypes.type(named: name, among: declared()) ?? ErrorTypes.type(named: name) else { return error }
        let restored: (any Error)? = try? PayloadCoder.decode(type, from: encoded.failure.payload, codec: encoded.codec)
        return restored ?? error
    }
}

extension Failure {
    /// The failure with texts that are no longer than they may be.
    fileprivate var bounded: Failure {
        var failure = self
        (failure.type, failure.message) = (Failures.bounded(type), Failures.bounded(message))
        return failure
    }
}

extension RemoteError.Encoded {
    /// Returns the error for a process that asked in `codec`.
    ///
    /// The type isn't known here, so that a value may be lost that the codecs write in different ways; its type and its words never are.
    fileprivate func failure(in codec: PayloadCodec) -> Failure {
        if codec == self.codec { return failure }
        var failure = failure
        let value = try? PayloadCoder.decode(JSONValue.self, from: failure.payload, codec: self.codec)
        failure.payload = value.flatMap { try? PayloadCoder.encode($0, as: codec) } ?? []
        return failure
    }
}

extension Result where Failure == any Error {
    /// Returns the result as the asker of a message gets it; see ``Failures/restored(_:declared:)``.
    func restored(for message: Envelope.Body) -> Result { mapError { Failures.restored($0, declared: message.errors) } }
}
