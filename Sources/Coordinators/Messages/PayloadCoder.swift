import ConcurrencySupport
import FoundationEssentials
import Glibc
import WireProtocol

/// The coder between values and payload bytes, in the codec of the ask.
enum PayloadCoder {
    static func encode<Value: Encodable>(_ value: Value, as codec: PayloadCodec) throws(CoordinatorError) -> Bytes {
        switch codec {
        case .json: Bytes(try json(of: value))
        case .compact: Bytes(try encoded(value) { try CompactEncoder().encode($0) })
        default: throw CoordinatorError(.coding, "values can't be encoded with codec \(codec.rawValue): use JSON or the compact codec")
        }
    }

    /// Returns a value as JSON in UTF-8.
    static func json<Value: Encodable>(of value: Value) throws(CoordinatorError) -> [UInt8] {
        // A number is its own text. Unsafe: it's the same type.
        if Value.self == Int.self { return Array("\(unsafeBitCast(value, to: Int.self))".utf8) }
        let bytes = try encoded(value) { Array(try JSONEncoder.forPayloads.encode($0)) }
        // A value is worth a look only then.
        if mayHaveNonFinite(bytes) { try refuseNonFinite(in: bytes, of: value) }
        return bytes
    }

    private static func encoded<Value: Encodable>(_ value: Value, _ encode: (Value) throws -> [UInt8]) throws(CoordinatorError) -> [UInt8] {
        do {
            return try encode(value)
        } catch let error as CoordinatorError {
            throw error
        } catch {
            throw CoordinatorError(.coding, "a \(type(of: value)) can't be encoded: \(error)")
        }
    }

    private static let nan = Array(NonFinite.nan.utf8)

    /// Whether there is what Foundation writes for a decimal that is no number, also within a text and for other numbers.
    @inline(never)
    private static func mayHaveNonFinite(_ bytes: [UInt8]) -> Bool {
        guard let first = bytes.firstIndex(of: nan[0]) else { return false }
        return bytes[first...].indices.contains { bytes[$0] == nan[0] && bytes[$0...].starts(with: nan) }
    }

    /// Refuses a decimal that is no number, which Foundation writes as no JSON has it, so that the reader would be to blame.
    private static func refuseNonFinite(in bytes: [UInt8], of value: Any) throws(CoordinatorError) {
        guard let place = place(of: { ($0 as? Decimal)?.isNaN == true }, in: value) else {
            // One that is made while the value is encoded isn't seen there.
            if JSONSyntax.firstProblem(in: bytes, maximumDepth: JSONSyntax.maximumAnswerDepth) == nil { return }
            throw CoordinatorError(.coding, "a \(type(of: value)) can't be encoded as JSON: it has a Decimal that is no number")
        }
        let name = place.isEmpty ? "it" : "'\(place.joined(separator: "."))'"
        throw CoordinatorError(.coding, "a \(type(of: value)) can't be encoded as JSON: \(name) is a Decimal that is no number")
    }

    /// Returns the names of the properties that lead to a value; `nil` if there is no such value.
    private static func place(of isMeant: (Any) -> Bool, in value: Any, depth: Int = 0) -> [String]? {
        if isMeant(value) { return [] }
        guard depth < 32 else { return nil }
        for (index, child) in Mirror(reflecting: value).children.enumerated() {
            guard let rest = place(of: isMeant, in: child.value, depth: depth + 1) else { continue }
            // What an optional has in it has no name of its own.
            return child.label == "some" ? rest : [child.label ?? "\(index)"] + rest
        }
        return nil
    }

    static func decode<Value: Decodable>(_ type: Value.Type, from bytes: Bytes, codec: PayloadCodec) throws(CoordinatorError) -> Value {
        do {
            switch codec {
            case .json:
                let decoder = JSONDecoder.forPayloads
                decoder.userInfo[.jsonSource] = PayloadSource(bytes)
                return try decoder.decode(type, from: Data(bytes))
            case .compact: return try CompactDecoder().decode(type, from: bytes)
            default: throw CoordinatorError(.coding, "values can't be decoded from codec \(codec.rawValue): use JSON or the compact codec")
            }
        } catch let error as CoordinatorError {
            throw error
        } catch {
            throw CoordinatorError(.coding, "the payload isn't a \(type): \(Self.explain(error))")
        }
    }

    /// Describes in one line where in a payload a value is missing or wrong.
    private static func explain(_ error: any Error) -> String {
        guard let error = error as? DecodingError else { return "\(error)" }
        let (context, what): (DecodingError.Context, String) =
            switch error {
            case .keyNotFound(let key, let context): (context, "'\(key.stringValue)' is missing")
            case .valueNotFound(let type, let context): (context, "\(type) expected, null found")
            case .typeMismatch(let type, let context): (context, "\(type) expected")
            case .dataCorrupted(let context): (context, context.debugDescription)
            @unknown default: (DecodingError.Context(codingPath: [], debugDescription: ""), "\(error)")
            }
        let place = context.codingPath.map(\.stringValue).joined(separator: ".")
        return place.isEmpty ? what : "\(what) (at \(place))"
    }
}

/// The text of a payload, which is read when a value of any form is in it.
private final class PayloadSource: JSONSource {
    private let bytes: Bytes
    private let read = Lock<Result<JSONValue, CoordinatorError>?>(nil)

    init(_ bytes: Bytes) { self.bytes = bytes }

    var whole: JSONValue {
        get throws {
            let result = read.withLock { read in
                let result = read ?? Result { () throws(CoordinatorError) in try Self.value(of: bytes) }
                read = result
                return result
            }
            return try result.get()
        }
    }

    /// Returns the value that a payload is.
    static func value(of bytes: Bytes) throws(CoordinatorError) -> JSONValue {
        do throws(JSONSyntax.Problem) {
            return try JSONSyntax.value(of: Array(bytes), maximumDepth: JSONSyntax.maximumAnswerDepth)
        } catch {
            let place = "line \(error.line), column \(error.column)"
            throw CoordinatorError(.coding, "the payload isn't JSON: \(place): \(error.message)")
        }
    }
}

extension JSONEncoder {
    fileprivate static let forPayloads: JSONEncoder = {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: NonFinite.positiveInfinity,
            negativeInfinity: NonFinite.negativeInfinity,
            nan: NonFinite.nan
        )
        return encoder
    }()
}

extension JSONDecoder {
    fileprivate static var forPayloads: JSONDecoder {
        let decoder = JSONDecoder()
        decoder.nonConformingFloatDecodingStrategy = .convertFromString(
            positiveInfinity: NonFinite.positiveInfinity,
            negativeInfinity: NonFinite.negativeInfinity,
            nan: NonFinite.nan
        )
        return decoder
    }
}

extension Encodable {
    /// Returns the value as JSON, whatever its type.
    func encodedAsJSON() throws(CoordinatorError) -> JSONValue {
        try PayloadSource.value(of: PayloadCoder.encode(self, as: .json))
    }

    /// Returns the value as the text of JSON, whatever its type.
    func encodedAsText() throws(CoordinatorError) -> JSONText {
        let text = JSONText(bytes: try PayloadCoder.json(of: self))
        if let obstacle = text.obstacle { throw CoordinatorError(.coding, "a \(Self.self) can't be kept as JSON: it has \(obstacle)") }
        return text
    }

    /// Returns the value as JSON that says what its text says, whatever its type.
    func encodedExactly() throws(CoordinatorError) -> JSONValue { try encodedAsText().value }
}

extension Decodable {
    /// Decodes the value from JSON.
    init(decoding json: JSONValue) throws(CoordinatorError) { try self.init(decoding: JSONText(json)) }

    /// Decodes the value from JSON.
    init(decoding text: JSONText) throws(CoordinatorError) {
        self = try PayloadCoder.decode(Self.self, from: Bytes(text.bytes), codec: .json)
    }
}

// MARK: - The identification of an executable

/// The identification of an executable: only processes that run the same one may speak the compact codec.
enum BuildID {
    /// The running executable's inode, size and modification time, which differ after a rebuild.
    static let current = of("/proc/self/exe") ?? "unknown-\(getpid())"

    /// Returns the identification of the file at a path; `nil` if there is none.
    static func of(_ path: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return "\(status.st_dev)-\(status.st_ino)-\(status.st_size)-\(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec)"
    }
}
