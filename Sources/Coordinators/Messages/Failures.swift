import ConcurrencySupport
import Processes
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

// MARK: - Types of errors, by name

/// The types of errors by their names between processes.
///
/// Such a name is the readable name, which every peer can print, the former names, an at sign, and the mangled name, by which a program that
/// has the same type finds it although the message doesn't declare it.
enum ErrorTypes {
    /// The number of names that are remembered: looking one up may make a type's metadata, which is never freed, and peers must not be able
    /// to cause that without a limit.
    private static let limit = 1_024

    private struct Names {
        var known: [String: any (Error & Codable).Type] = [:]
        /// Names without a type here; forgotten when there are too many, so that one peer's don't crowd out another's.
        var unknown: Set<String> = []
    }

    private static let names = Lock(Names())

    static func wireName(of type: any (Error & Codable).Type) -> String {
        let plain = (type as? any ResponderError.Type)?.wireName ?? TypeNames.name(of: type)
        guard let mangled = _mangledTypeName(type), isHarmless(mangled), plain.utf8.count + mangled.utf8.count < limit else { return plain }
        return "\(plain)@\(mangled)"
    }

    /// Returns the readable name alone.
    static func plainName(_ wireName: String) -> String {
        WireNames.first(in: names(in: wireName))
    }

    /// Returns the readable names, in one text.
    private static func names(in wireName: String) -> String {
        wireName.lastIndex(of: "@").map { String(wireName[..<$0]) } ?? wireName
    }

    /// Returns the type among declared ones that has one of the names; present names count before former ones.
    static func type(named wireName: String, among types: [any ResponderError.Type]) -> (any ResponderError.Type)? {
        if types.isEmpty { return nil }
        let names = WireNames.all(in: Self.names(in: wireName)).map { String($0) }
        return types.first { names.contains($0.name) } ?? types.first { type in type.formerNames.contains { names.contains($0) } }
    }

    /// Returns the type, if this program has it and it's an error that can be decoded.
    static func type(named wireName: String) -> (any (Error & Codable).Type)? {
        guard let separator = wireName.lastIndex(of: "@") else { return nil }
        let mangled = String(wireName[wireName.index(after: separator)...])
        guard mangled.utf8.count < limit, isHarmless(mangled) else { return nil }
        let (known, mayLook) = names.withLock { ($0.known[mangled], $0.known.count < limit && !$0.unknown.contains(mangled)) }
        guard known == nil, mayLook else { return known }
        let type = _typeByName(mangled) as? any (Error & Codable).Type
        names.withLock { names in
            if names.unknown.count >= limit { names.unknown = [] }
            if let type { names.known[mangled] = type } else { names.unknown.insert(mangled) }
        }
        return type
    }

    /// Returns whether a mangled name is free of addresses, as bytes or digits: they stand for a private type, or for any memory that a
    /// peer chooses.
    private static func isHarmless(_ mangled: String) -> Bool {
        !mangled.isEmpty && mangled.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }
    }
}

// MARK: - Errors that cross processes as values

/// An error that responders throw and askers catch, whatever process and whatever build each of them is in.
///
///     enum Cart {
///         struct Full: ResponderError { var limit: Int }
///         struct Add: ResponderMessage { typealias Reply = Int; typealias Failure = Full; var sku: String }
///     }
///
/// The asker gets the error as it was thrown if its message declares the type in ``ResponderMessage/Failure``. The type is found by its
/// name, or by one of its former names; the processes in between need not know it.
public protocol ResponderError: WireNamed, Error, Codable {}

/// Several types of errors, for ``ResponderMessage/Failure``: each error is thrown as its own type.
///
///     typealias Failure = OneOf<Cart.Full, Cart.Closed>
public struct OneOf<each Failure: ResponderError>: ResponderError {
    /// Fails: the type only names others.
    public init(from decoder: any Decoder) throws {
        throw DecodingError.dataCorrupted(
            DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "\(Self.self) has no values")
        )
    }

    /// Does nothing, since there are no values.
    public func encode(to encoder: any Encoder) throws {}
}

/// A type that stands for several types of errors.
private protocol ErrorTypeList {
    static var types: [any ResponderError.Type] { get }
}

extension OneOf: ErrorTypeList {
    fileprivate static var types: [any ResponderError.Type] {
        var types: [any ResponderError.Type] = []
        for type in repeat (each Failure).self { types += type.errorTypes }
        return types
    }
}

extension ResponderError {
    /// The types of errors that this type stands for: itself, or several.
    fileprivate static var errorTypes: [any ResponderError.Type] { (self as? any ErrorTypeList.Type)?.types ?? [self] }
}

extension ResponderMessage {
    /// The types of the errors that the message declares.
    static var errorTypes: [any ResponderError.Type] { Failure.errorTypes.filter { $0 != RemoteError.self } }
}

// MARK: - Exit reasons between processes

extension ExitReason {
    /// Creates the reason from a worker's own report of its end.
    init(_ exit: Exit) {
        self =
            switch exit.kind {
            case .normal: .normal
            case .shutdown: .shutdown
            case .failed: .failed(exit.message.shortened)
            case .exitCode: .exited(code: exit.code)
            case .signal: .signaled(exit.code)
            case .hung: .hung
            case .startFailed: .startFailed(exit.message.shortened)
            case .escalated: .escalated(exit.message.shortened)
            default: .unknown
            }
    }

    /// Creates the reason from the kernel's status of a process.
    init(_ status: ExitStatus) {
        self =
            switch status {
            case .unknown: .unknown
            case .exited(let code): .exited(code: code)
            case .signaled(let signal, _): .signaled(signal.rawValue)
            }
    }

    var onWire: Exit {
        switch self {
        case .normal: Exit(kind: .normal)
        case .shutdown: Exit(kind: .shutdown)
        case .failed(let message): Exit(kind: .failed, message: message.shortened)
        case .exited(let code): Exit(kind: .exitCode, code: code)
        case .signaled(let signal): Exit(kind: .signal, code: signal)
        case .hung: Exit(kind: .hung)
        case .startFailed(let message): Exit(kind: .startFailed, message: message.shortened)
        case .startTimedOut: Exit(kind: .startFailed, message: "was not ready in time")
        case .stopTimedOut: Exit(kind: .failed, message: "did not stop in time")
        case .memoryExceeded, .killed, .outOfMemory: Exit(kind: .failed, message: description)
        case .escalated(let message): Exit(kind: .escalated, message: message.shortened)
        case .unknown: Exit(kind: .unknown)
        }
    }

    /// The exit status of a process that ends for this reason (sysexits(3)).
    var processExitCode: Int32 {
        switch self {
        case .normal, .shutdown: 0
        case .exited(let code): code
        case .failed, .signaled, .hung, .startFailed, .startTimedOut, .stopTimedOut, .memoryExceeded, .killed, .outOfMemory, .escalated,
            .unknown:
            1
        }
    }
}

/// The error with which a handler ends that has given its message back, which another life is to have.
struct MessageHandedBack: Error {}
