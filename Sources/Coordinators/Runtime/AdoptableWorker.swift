import ConcurrencySupport
import WireProtocol

/// The data by which the next root in the same directory adopts a worker, in the journal of processes: written before the worker gets its
/// ticket, or, by a process that has waited for its life, before it gets the life.
///
/// It contains the ticket's secret: the journal is readable by this user only, and no description of a worker shows it.
struct AdoptableWorker: Codable, Sendable, Hashable {
    let path: String
    let incarnation: UInt32
    /// The ticket's secret, in hexadecimal digits.
    let secret: String
    /// The worker's program and configuration, condensed.
    let fingerprint: String
    /// The user as whom the worker was started; `nil`: that of the root.
    var user: UInt32?
    /// The name of the FIFO that the worker writes its output to; `nil`: the output isn't captured.
    var output: String?
    /// The name of the lock that the worker holds; `nil`: the path's own lock, which a life that overlaps its former one can't have yet.
    var lock: String?
    /// The time at which the life took its predecessor's place, in nanoseconds of the monotonic clock; `nil`: before its birth.
    var place: Int64?

    /// The time since which the life is ready, in nanoseconds of the monotonic clock; `nil`: it isn't, or the record is one of a former version.
    var readySince: Int64?

    /// The name of the lock that the worker holds.
    var lockName: String { lock ?? RuntimeFiles.lockName(of: path) }

    /// The time at which the life took its predecessor's place, or one before its birth.
    var placeTime: MonotonicTime { MonotonicTime(nanoseconds: place ?? 0) }

    /// The secret as the worker shows it; `nil` when the record isn't one that this program has written.
    var secretBytes: [UInt8]? {
        let digits = secret.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
        guard digits.count == 2 * Ticket.secretLength, digits.count == secret.utf8.count else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }

    static func digits(of secret: [UInt8]) -> String {
        secret.map { byte in "\(String(byte >> 4, radix: 16))\(String(byte & 15, radix: 16))" }.joined()
    }
}

extension AdoptableWorker {
    /// The record as one line of text without its end.
    var text: String {
        // Texts and a number can always be encoded; JSON has no line breaks of its own.
        (try? PayloadCoder.encode(self, as: .json)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    /// Reads the text of a record; returns `nil` when it isn't one.
    init?(_ text: Substring) {
        guard let record = try? PayloadCoder.decode(Self.self, from: Bytes(Array(text.utf8)), codec: .json) else { return nil }
        self = record
    }
}

extension AdoptableWorker: CustomStringConvertible {
    /// The worker's place, without its secret.
    var description: String { "AdoptableWorker(\(path), incarnation: \(incarnation))" }
}

extension CoordinatorDefinition {
    /// Returns the program and the configuration of a worker, condensed; `nil` when this isn't one that may be adopted.
    ///
    /// A worker with the same fingerprint does what a new one would do, and writes its output to where it's read. The executable counts by
    /// its path, and the user and the group by their names: another program in the same file, or another number of the name, is used from the
    /// next life on.
    func fingerprint(_ defaultExecutable: String?, isCaptured: Bool) -> String? {
        guard case .worker(let typeName, let program, _) = place, let configuration = try? configuration.json() else { return nil }
        var fields: [JSONValue] = [
            .string(typeName), .string(program.executable ?? defaultExecutable ?? ""), .string(program.directory ?? ""),
            .array(program.arguments.map { .string($0) }), program.surroundings.condensedVariables, .bool(isCaptured), configuration,
        ]
        // Most workers have none of these, and the fingerprint that they have always had.
        let others = ProcessSurroundings(environment: program.environment, directory: program.directory)
        if program.surroundings != others { fields.append(program.surroundings.condensed) }
        var hash = FNV1a()
        hash.add(JSONValue.array(fields))
        return hash.text
    }
}
