import Glibc

/// What everything that descends from a process has in its environment, by which it is found again wherever it has gone.
///
/// It is no secret. A chain of entries, the outermost first: each spawn adds one of its own, so that whoever carries an entry descends from
/// the process that was spawned with it. Processes that clear their environment are known by their group and session alone.
package struct ProcessMark: Sendable, Hashable {
    /// The variable that holds it.
    package static let variable = "COORDINATOR_MARK"

    /// The entries, the outermost first.
    package let entries: [String]

    /// Reads the text of the variable.
    package init(_ text: String) { entries = text.split(separator: "/").map(String.init) }

    private init(entries: [String]) { self.entries = entries }

    /// This process's own; without entries when nobody has marked it.
    package static let current = ProcessMark(getenv(variable).map { String(cString: $0) } ?? "")

    /// The text of the variable.
    package var text: String { entries.joined(separator: "/") }

    /// The mark of a process that is spawned by one with this mark.
    package func appending(_ entry: String) -> ProcessMark { ProcessMark(entries: entries + [entry]) }

    /// A new entry, like no other.
    package static func makeEntry() -> String { String(UInt64.random(in: .min ... .max), radix: 36) }

    /// The mark of another process; nil when it has none, is gone, or is another user's.
    ///
    /// - Throws: when it could not be looked at.
    static func of(_ processID: Int32) throws(ProcessError) -> ProcessMark? {
        switch ProcessTable.environment(of: processID) {
        case .bytes(let environment): return mark(in: environment)
        case .absent, .hidden: return nil
        case .failed(let errno): throw ProcessError(errno, action: "read the environment of process \(processID)")
        }
    }

    static func mark(in environment: [UInt8]) -> ProcessMark? {
        let name = Array("\(variable)=".utf8)
        let entry = environment.split(separator: 0).first { $0.starts(with: name) }
        return entry.map { ProcessMark(String(decoding: $0.dropFirst(name.count), as: UTF8.self)) }
    }
}
