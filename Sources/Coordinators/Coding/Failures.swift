import WireProtocol

/// Errors on their way between processes.
///
/// A handler's error reaches the asker as thrown if it's Codable and the other process knows the type, else as `RemoteError`.
enum Failures {
    /// What an asker may see of a handler's error, wherever it is: the same in one process as between two.
    static func crossable(_ error: any Error) -> any Error {
        switch error {
        case is CoordinatorError, is RemoteError, is CancellationError: error
        case is any Error & Codable: error
        default: RemoteError(type: TypeNames.name(of: type(of: error)), description: String(describing: error))
        }
    }

    static func encode(_ error: any Error, codec: PayloadCodec) -> Failure {
        switch error {
        case let error as CoordinatorError:
            let flag: [UInt8] = error.maybeExecuted ? [1] : []
            return Failure(code: error.code.description, type: "", message: error.message, payload: flag[...])
        case let error as RemoteError:
            return Failure(code: "", type: error.type, message: error.description, payload: [])
        case is CancellationError:
            return Failure(code: "cancelled", type: "", message: "the handler was cancelled", payload: [])
        case let error as any Error & Codable:
            let payload = (try? PayloadCoder.encode(error, as: codec)) ?? []
            // Only an equal build can find the type behind the name; others see a RemoteError.
            let type = codec == .compact ? _mangledTypeName(Swift.type(of: error)) : nil
            return Failure(
                code: "",
                type: type ?? TypeNames.name(of: Swift.type(of: error)),
                message: String(describing: error),
                payload: payload
            )
        default:
            return Failure(code: "", type: TypeNames.name(of: type(of: error)), message: String(describing: error), payload: [])
        }
    }

    static func decode(_ failure: Failure, codec: PayloadCodec) -> any Error {
        if failure.code == "cancelled" { return CancellationError() }
        if !failure.code.isEmpty {
            let code = CoordinatorError.Code(failure.code) ?? .unsupported
            return CoordinatorError(code, failure.message, maybeExecuted: failure.payload.first == 1)
        }
        if codec == .compact, let type = _typeByName(failure.type) as? any (Error & Codable).Type,
            let error = try? decode(type, failure.payload, codec)
        {
            return error
        }
        let name = codec == .compact ? _typeByName(failure.type).map(TypeNames.name) ?? failure.type : failure.type
        return RemoteError(type: name, description: failure.message)
    }

    private static func decode<E: Error & Codable>(_ type: E.Type, _ bytes: Bytes, _ codec: PayloadCodec) throws -> any Error {
        try PayloadCoder.decode(type, from: bytes, codec: codec)
    }
}
