/// Why a request to etcd has failed.
enum EtcdFault: Error {
    /// etcd has refused it, with a code of gRPC.
    case refused(code: Int, message: String)
    /// There was no connection: nothing has been sent.
    case unreachable(any Error)
    /// The connection broke, or the answer isn't one.
    case broken(any Error)
    case late
    case cancelled
    case unintelligible(String)

    init(_ error: any Error) {
        switch error {
        case let fault as EtcdFault: self = fault
        case is CancellationError: self = .cancelled
        case let error as TransferError where !error.mayHaveBeenSent: self = .unreachable(error)
        default: self = .broken(error)
        }
    }

    /// Whether another member may do better.
    var isOfTheMember: Bool {
        switch self {
        // What doesn't speak as etcd does, such as a proxy in front of a member that is gone, is left too.
        case .unreachable, .broken, .late, .unintelligible: true
        // Unavailable, deadline exceeded.
        case .refused(let code, _): code == 14 || code == 4
        case .cancelled: false
        }
    }

    /// Whether the token of the user has expired, is older than the last change of etcd's users, or was never asked for, since etcd had no
    /// users then.
    var isOfTheToken: Bool {
        guard case .refused(let code, _) = self else { return false }
        return code == 16 || says("invalid auth token") || says("revision of auth store is old") || says("user name is empty")
    }

    var isLeaseMissing: Bool { says("requested lease not found") }
    var isLeaseThere: Bool { says("lease already exists") }
    var isWithoutPermission: Bool { says("permission denied") }
    var isWithoutUsers: Bool { says("authentication is not enabled") }

    private func says(_ text: String) -> Bool {
        guard case .refused(_, let message) = self else { return false }
        return message.contains(text)
    }

    /// The error for callers; `action` continues "could not".
    func error(_ action: String) -> StoreError {
        switch self {
        case .refused(let code, let message) where isOfTheMember:
            // Without a leader nothing was proposed; after other words of this kind the request may still be carried out.
            let isWithoutLeader = message.contains("no leader")
            return StoreError(
                code: code == 4 ? .timedOut : .unavailable,
                message: "Could not \(action): etcd says \"\(message)\".",
                mayHaveHappened: !isWithoutLeader
            )
        // Too many requests, or no space.
        case .refused(8, let message):
            return StoreError(code: .unavailable, message: "Could not \(action): etcd says \"\(message)\".")
        case .refused(_, let message):
            return StoreError(
                code: .refused,
                message: "Could not \(action): etcd says \"\(message)\". Look at the user, the password and the permissions."
            )
        case .unreachable(let cause):
            return StoreError(code: .unavailable, message: "Could not \(action): etcd can't be reached (\(cause)).", cause: cause)
        case .broken(let cause):
            return StoreError(
                code: .unavailable,
                message: "Could not \(action): the connection to etcd broke (\(cause)).",
                mayHaveHappened: true,
                cause: cause
            )
        case .late:
            return StoreError(code: .timedOut, message: "Could not \(action): etcd hasn't answered in time.", mayHaveHappened: true)
        case .cancelled: return .cancelled(action, mayHaveHappened: true)
        case .unintelligible(let what):
            return StoreError(
                code: .unintelligible,
                message: "Could not \(action): etcd's answer makes no sense: \(what). Is there an etcd 3.4 or later at the endpoint?",
                mayHaveHappened: true
            )
        }
    }
}
