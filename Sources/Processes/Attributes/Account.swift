import CProcess
import ConcurrencySupport
import Glibc

/// The user and the groups of a child, as the system's lists of accounts have them at this moment.
package struct Account: Sendable, Hashable {
    package let user: UInt32
    package let group: UInt32
    /// The supplementary groups.
    package let groups: [UInt32]
    /// The variables of a user's session, if the user was chosen.
    package let environment: [String: String]

    /// Whether a process that runs as this one does has the account already.
    private var isOurs: Bool { geteuid() != 0 && user == geteuid() && group == getegid() }

    /// Finds the account that attributes name, on a thread where that may block: the lists may be on a server.
    ///
    /// - Returns: nil when nothing is to be changed.
    package static func find(_ attributes: ProcessAttributes) async throws(ProcessError) -> Account? {
        guard attributes.user != nil || attributes.group != nil else { return nil }
        let subject = "user \(attributes.user ?? ""), group \(attributes.group ?? "")"
        return try await BlockingCalls.shared.run(subject, action: "look up the \(subject)") { () throws(ProcessError) in
            try other(attributes)
        }
    }

    /// Finds the account that attributes name; may block.
    ///
    /// - Returns: nil when nothing is to be changed.
    package static func other(_ attributes: ProcessAttributes) throws(ProcessError) -> Account? {
        guard attributes.user != nil || attributes.group != nil else { return nil }
        let account = try Account(of: attributes)
        return account.isOurs ? nil : account
    }

    /// Creates the account that a process has, by the kernel's word.
    package init(user: UInt32, group: UInt32, groups: [UInt32]) {
        (self.user, self.group, self.groups, environment) = (user, group, groups, [:])
    }

    /// Finds the account that attributes name; may block.
    package init(of attributes: ProcessAttributes) throws(ProcessError) {
        let entry = try Self.entry(of: attributes.user)
        let group = try attributes.group.map { group throws(ProcessError) in try Self.groupID(group) }
        if let entry {
            self.user = entry.user
            self.group = group ?? entry.group
            groups = Self.groups(of: entry.name, self.group)
            environment = attributes.user == nil ? [:] : entry.environment
            return
        }
        // A number needs no entry, as long as its group is known.
        guard let user = attributes.user.flatMap(UInt32.init) ?? (attributes.user == nil ? geteuid() : nil) else {
            throw .invalid("There is no user \"\(attributes.user ?? "")\". Correct the name, or create the user.")
        }
        guard let group else { throw .invalid("The user \(user) has no entry in the list of users. Name its group too.") }
        (self.user, self.group, groups, environment) = (user, group, [group], [:])
    }

    /// Whether attributes name the user and the group of this process, or none; false when the names are unknown.
    ///
    /// May block.
    package static func isOurs(_ attributes: ProcessAttributes) -> Bool {
        guard attributes.user != nil || attributes.group != nil else { return true }
        return (try? Account(of: attributes))?.isOurs ?? false
    }

    /// Returns a description of what is wrong with the names in attributes; nil when they are known.
    ///
    /// May block.
    package static func problem(with attributes: ProcessAttributes) -> String? {
        guard attributes.user != nil || attributes.group != nil else { return nil }
        do throws(ProcessError) {
            _ = try Account(of: attributes)
            return nil
        } catch {
            return error.message
        }
    }

    private struct Entry {
        let name: String
        let user: UInt32
        let group: UInt32
        let environment: [String: String]
    }

    private static func entry(of user: String?) throws(ProcessError) -> Entry? {
        var account = coordinator_account()
        var result = user.map { coordinator_account_of_user($0, 0, &account) } ?? 0
        if result == 0, let number = user.map({ UInt32($0) }) ?? geteuid() {
            result = coordinator_account_of_user(nil, number, &account)
        }
        guard result >= 0 else { throw ProcessError(-result, action: "look up the user \"\(user ?? "of this process")\"") }
        guard result > 0 else { return nil }
        defer { coordinator_account_release(&account) }
        let name = text(account.name)
        return Entry(
            name: name,
            user: account.user,
            group: account.group,
            environment: ["HOME": text(account.home), "USER": name, "LOGNAME": name, "SHELL": text(account.shell)]
        )
    }

    /// Returns the number of a group that is given by its name or its number.
    ///
    /// Blocks while the group is looked up.
    package static func groupID(_ name: String) throws(ProcessError) -> UInt32 {
        var group: gid_t = 0
        let result = coordinator_account_of_group(name, &group)
        guard result >= 0 else { throw ProcessError(-result, action: "look up the group \"\(name)\"") }
        if result > 0 { return group }
        guard let number = UInt32(name) else {
            throw .invalid("There is no group \"\(name)\". Correct the name, or create the group.")
        }
        return number
    }

    private static func groups(of name: String, _ group: UInt32) -> [UInt32] {
        var groups = [gid_t](repeating: 0, count: 64)
        // The second call has room for what the first one has counted.
        for _ in 0..<2 {
            let count = Int(coordinator_account_groups(name, group, &groups, Int32(groups.count)))
            if count <= groups.count { return Array(groups[..<max(count, 0)]) }
            groups = Array(repeating: 0, count: count)
        }
        return groups
    }

    private static func text(_ characters: UnsafePointer<CChar>?) -> String { characters.map { String(cString: $0) } ?? "" }
}

/// The names of users, which are looked up once.
///
/// A look-up may ask a directory service, which needn't answer: it's waited for once and for a short time, and until it has ended the user has
/// no name.
package final class UserNames: Sendable {
    /// The names by the users' numbers; nil while a look-up lasts, and of a user without a name.
    private let names = Lock<[UInt32: String?]>([:])

    package init() {}

    /// Returns the name of a user; nil when there is none, or none yet.
    package func name(of user: UInt32) -> String? {
        let (isKnown, known) = names.withLock { names -> (Bool, String?) in
            defer { names[user] = .some(names[user] ?? nil) }
            return (names[user] != nil, names[user] ?? nil)
        }
        if isKnown { return known }
        let isDone = DetachedThread.run(waitingFor: .milliseconds(200)) { [self] in
            let name = Self.lookUp(user)
            names.withLock { $0[user] = .some(name) }
        }
        guard isDone == true else { return nil }
        return names.withLock { $0[user] ?? nil }
    }

    private static func lookUp(_ user: UInt32) -> String? {
        var entry = passwd()
        var result: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 16_384)
        // Unsafe: the entry points into the buffer, and is read while the buffer stays.
        return buffer.withUnsafeMutableBufferPointer { buffer -> String? in
            guard let base = buffer.baseAddress, getpwuid_r(user, &entry, base, buffer.count, &result) == 0, result != nil
            else { return nil }
            return entry.pw_name.map { String(cString: $0) }
        }
    }
}

/// What an operator may do with a daemon; each role may do what those before it may.
public enum OperatorRole: String, Codable, CaseIterable, Comparable, Sendable {
    /// Looks: at the tree, its processes, logs, events and numbers.
    case observe
    /// Starts, stops, signals and moves what the configuration has, and sends messages.
    case operate
    /// Changes what the daemon runs, and ends it: of a daemon of root the role of root itself.
    case administer

    /// Whether a role may do less than another one.
    public static func < (left: OperatorRole, right: OperatorRole) -> Bool { left.rank < right.rank }

    private var rank: Int {
        switch self {
        case .observe: 0
        case .operate: 1
        case .administer: 2
        }
    }
}
