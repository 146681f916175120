import Glibc

/// A lock that a child holds for as long as it lives, so that no second life begins beside it.
///
/// The parent takes the lock before it spawns the child, and gives it the descriptor. The kernel counts the lock as held while any process
/// has a descriptor of it, and releases it however the last of them ends; see flock(2). A child should set the descriptor close-on-exec, so
/// that its own children don't hold the lock; processes that ``ProcessSpawner`` starts never do.
package final class IncarnationLock: Sendable {
    /// The path of the locked file.
    package let path: String
    private let descriptor: Int32
    private let systemCalls: SystemCalls

    /// Takes the lock on a file, which is made if it doesn't exist.
    ///
    /// - Returns: `nil` when another process holds the lock.
    package convenience init?(_ path: String) throws(ProcessError) {
        try self.init(path, systemCalls: .live)
    }

    init?(_ path: String, systemCalls: SystemCalls) throws(ProcessError) {
        let result = systemCalls.lockFile(path)
        if result == -EWOULDBLOCK { return nil }
        guard result >= 0 else { throw ProcessError(-result, action: "lock the file \(path)") }
        (self.path, descriptor, self.systemCalls) = (path, result, systemCalls)
    }

    /// Closes this process's descriptor; the lock stays taken while a child holds it.
    deinit { systemCalls.close(descriptor) }

    /// Returns the descriptor to give to the child.
    package func inherited(as target: Int32) -> InheritedDescriptor { InheritedDescriptor(source: descriptor, target: target) }

    /// Removes the locked file, once the lives that it has guarded are over.
    ///
    /// A process that takes the lock at the same moment gets another file: no two ever hold the lock at the path.
    package func removeFile() { systemCalls.unlink(path) }
}
