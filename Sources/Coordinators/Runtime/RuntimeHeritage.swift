import Glibc
import Processes
import WireProtocol

/// What a program leaves to the one that takes its place in the same process, besides the workers, which the journal of processes lists.
package struct RuntimeHeritage: Codable, Sendable {
    /// A plain program that lives on: in the next program of this process, or, by its line in the journal of processes, when this process is
    /// killed.
    struct Program: Codable, Sendable, Hashable {
        let path: String
        let incarnation: UInt32
        var process: KeptProcess
        /// The mark's entry by which its descendants are known.
        let entry: String
        let command: [String]
        /// What the process has of its specification, condensed; `nil`: the record is one of a former version.
        var fingerprint: String?
        /// Whether it has shown that it's ready.
        var isReady: Bool
        /// The time since which it's ready, in nanoseconds of the monotonic clock; `nil`: it isn't, or the record is one of a former version.
        var readySince: Int64?
        /// Its state, as it has told it.
        var status: String?
        /// The milliseconds that may pass between two signs of life, which the program may have changed.
        var watchdogMilliseconds: Int64?
        /// The signal that asks it to stop, and the milliseconds that it's given then, if nothing starts it any more; `nil`: SIGTERM, and any
        /// time.
        var stopSignal: Int32?
        var stopMilliseconds: Int64?
        /// The listening sockets that it was given.
        var sockets: [ListeningSocket.Holding]?

        var family: ProcessFamily { ProcessFamily(leader: process.identity, entry: entry) }

        /// The record as one line of text without its end.
        var text: String {
            // Texts and numbers can always be encoded; JSON has no line breaks of its own.
            (try? PayloadCoder.encode(self, as: .json)).map { String(decoding: $0, as: UTF8.self) } ?? ""
        }
    }

    var programs: [Program] = []
    /// The latest incarnation of each child of this process's coordinators.
    var incarnations: [String: UInt32] = [:]
    /// The children that were paused by name.
    var paused: [String] = []

    /// The descriptors that the next program has too.
    package var descriptors: [Int32] { programs.flatMap(\.process.descriptors) }
    /// The paths of the plain programs that live on.
    package var keptPrograms: [String] { programs.map(\.path) }
}

extension RuntimeHeritage.Program {
    /// Reads the text of a record; returns `nil` when it isn't one.
    init?(_ text: Substring) {
        guard let record = try? PayloadCoder.decode(Self.self, from: Bytes(Array(text.utf8)), codec: .json) else { return nil }
        self = record
    }
}

extension ProgramSpecification {
    /// What a process has of the specification, condensed: of two with the same fingerprint, one process does for the other.
    ///
    /// What only the parent uses isn't part of it: checks, times, and how the program is stopped.
    var fingerprint: String {
        var readiness = JSONValue.string("")
        if case .notify = self.readiness { readiness = "notify" }
        if case .descriptor(let number) = self.readiness { readiness = .string("\(number)") }
        var hash = FNV1a()
        hash.add(
            .array([
                .array(command.map { .string($0) }), surroundings.condensedVariables, .string(directory ?? ""),
                surroundings.condensed, readiness, .string(watchdog.map { "\($0)" } ?? ""), .array(sockets.texts.map { .string($0) }),
                .string("\(standardInput)"),
            ])
        )
        return hash.text
    }
}
