/// What a process runs, and the user that it runs as, as ps(1) shows them to this user.
package struct ProcessCommand: Sendable, Equatable {
    /// The greatest number of characters of a command that are kept.
    private static let maximumLength = 400

    /// The program and its arguments, those with spaces or quotes in single quotes, as a shell reads them.
    package let text: String
    /// The effective user.
    package let user: UInt32

    /// Looks at a process; nil when it's gone, may not be looked at, or is between two programs.
    package init?(of processID: Int32) {
        guard case .bytes(let bytes) = ProcessTable.contents("/proc/\(processID)/cmdline", limit: 16_384), !bytes.isEmpty,
            let users = ProcessTable.users(of: processID)
        else { return nil }
        self.init(arguments: bytes, user: users.effective)
    }

    /// Reads arguments that are each ended by a zero byte.
    init(arguments: [UInt8], user: UInt32) {
        let ended = arguments.last == 0 ? arguments.dropLast() : arguments[...]
        let words = ended.split(separator: 0, omittingEmptySubsequences: false).map { Self.quoted(String(decoding: $0, as: UTF8.self)) }
        let whole = words.joined(separator: " ")
        text = whole.count > Self.maximumLength ? String(whole.prefix(Self.maximumLength - 1)) + "…" : whole
        self.user = user
    }

    private static func quoted(_ word: String) -> String {
        guard word.isEmpty || word.contains(where: { $0.isWhitespace || "'\"\\$".contains($0) }) else { return word }
        return "'\(word.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''"))'"
    }
}
