import Glibc

/// A mark that all descendants of a process have in their environment, by which they are found wherever they have gone.
///
/// A mark is not secret. It is a chain of entries, the outermost first: each spawn adds one of its own, so that every process with an entry
/// descends from the process that was spawned with it. Processes that clear their environment are known by their group and session alone.
package struct ProcessMark: Sendable, Hashable {
    /// The environment variable that holds the mark.
    package static let variable = "COORDINATOR_MARK"

    /// The entries, the outermost first.
    package let entries: [String]

    /// Reads the text of the variable.
    package init(_ text: String) { entries = text.split(separator: "/").map(String.init) }

    private init(entries: [String]) { self.entries = entries }

    /// The mark of the current process; without entries when it has none.
    package static let current = ProcessMark(getenv(variable).map { String(cString: $0) } ?? "")

    /// The text of the variable.
    package var text: String { entries.joined(separator: "/") }

    /// Returns the mark of a process that is spawned by one with this mark.
    package func appending(_ entry: String) -> ProcessMark { ProcessMark(entries: entries + [entry]) }

    /// Creates a new, unique entry.
    package static func makeEntry() -> String { String(UInt64.random(in: .min ... .max), radix: 36) }

    /// Reads the mark of another process; nil when it has none, is gone, or is another user's.
    ///
    /// - Throws: An error when the environment could not be read.
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
