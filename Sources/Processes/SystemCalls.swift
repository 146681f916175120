import Glibc

/// Every system call that spawning, waiting and signalling makes, so that tests can make each of them fail.
///
/// Convention: a result below zero is the negated errno.
package struct SystemCalls: Sendable {
    /// The result of asking for an exit status.
    package enum Reaped: Sendable {
        case stillRunning
        case ended(ExitStatus)
        case failed(errno: Int32)
    }

    /// The result of reading a file of a process.
    package enum Contents: Sendable, Equatable {
        case bytes([UInt8])
        /// There is no such process.
        case absent
        /// The process is another user's, and its file is not shown to this one.
        case hidden
        /// The file could not be read, such as for want of descriptors: the process may be there or not.
        case failed(errno: Int32)

        /// Creates the result that a negated errno stands for.
        init(failure: Int) {
            self =
                switch Int32(-failure) {
                case ENOENT, ESRCH: .absent
                case EACCES, EPERM: .hidden
                case let errno: .failed(errno: errno)
                }
        }
    }

    /// Spawns a child, and doesn't wait until it has become its program.
    package var spawn: @Sendable (SpawnRequest) -> SpawnedChild
    /// pidfd_open(2) of a process number.
    package var openProcess: @Sendable (_ processID: Int32) -> Int32
    /// pidfd_send_signal(2) to a process.
    package var signalProcess: @Sendable (_ descriptor: Int32, _ signal: Int32) -> Int32
    /// pidfd_send_signal(2) to the group that the process led; -EINVAL before Linux 6.9.
    package var signalGroupOfProcess: @Sendable (_ descriptor: Int32, _ signal: Int32) -> Int32
    /// kill(2) of a group by its number.
    package var signalGroup: @Sendable (_ groupID: Int32, _ signal: Int32) -> Int32
    /// waitid(2) through a pidfd, without blocking.
    package var reap: @Sendable (_ descriptor: Int32) -> Reaped
    /// PIDFD_GET_INFO: the exit status of a process that another one has reaped; still running until then, and a failure before Linux 6.15.
    package var foreignExit: @Sendable (_ descriptor: Int32) -> Reaped
    /// waitid(2) by number, for a child that never got a pidfd: 1 when reaped, 0 when it still runs.
    package var reapNumber: @Sendable (_ processID: Int32, _ block: Bool) -> Int32
    /// /proc/PID/stat.
    package var statistics: @Sendable (_ processID: Int32) -> Contents
    /// pipe2(2): (reading, writing), or (negated errno, -1).
    package var pipe: @Sendable () -> (Int32, Int32)
    /// mkfifo(3) and open(2), with a capacity to ask for: (reading, writing), or (negated errno, -1).
    package var makeFIFO: @Sendable (_ path: String, _ size: Int32) -> (Int32, Int32)
    /// socket(2) and bind(2): a socket for datagrams, to which only its owner and root can send.
    package var datagramSocket: @Sendable (_ path: String, _ owner: UInt32) -> Int32
    /// open(2) of an existing FIFO, for reading.
    package var openFIFO: @Sendable (_ path: String) -> Int32
    /// open(2) and flock(2), without waiting: -EWOULDBLOCK when another process has the lock.
    package var lockFile: @Sendable (_ path: String) -> Int32
    /// unlink(2).
    package var unlink: @Sendable (_ path: String) -> Void
    /// fcntl F_DUPFD_CLOEXEC.
    package var duplicate: @Sendable (_ descriptor: Int32, _ minimum: Int32) -> Int32
    /// close(2).
    package var close: @Sendable (_ descriptor: Int32) -> Void
    /// read(2).
    ///
    /// The buffer is the caller's; unsafe because it is the kernel's to fill.
    package var read: @Sendable (_ descriptor: Int32, _ buffer: UnsafeMutableRawBufferPointer) -> Int
    /// ioctl FIONREAD: how many bytes can be read now.
    package var available: @Sendable (_ descriptor: Int32) -> Int32
    /// eventfd(2).
    package var eventDescriptor: @Sendable () -> Int32
    /// write(2) of 1 to an eventfd.
    package var wake: @Sendable (_ descriptor: Int32) -> Void
    /// epoll_create1(2).
    package var pollDescriptor: @Sendable () -> Int32
    /// epoll_ctl(2) EPOLL_CTL_ADD, for reading.
    package var pollAdd: @Sendable (_ poll: Int32, _ descriptor: Int32, _ token: UInt64) -> Int32
    /// epoll_ctl(2) EPOLL_CTL_DEL.
    package var pollRemove: @Sendable (_ poll: Int32, _ descriptor: Int32) -> Void
    /// epoll_wait(2): the number of tokens filled in.
    ///
    /// Unsafe because the buffer is the kernel's to fill.
    package var pollWait: @Sendable (_ poll: Int32, _ tokens: UnsafeMutableBufferPointer<UInt64>, _ milliseconds: Int32) -> Int32
    /// Returns the number of open descriptors and the number that may be open.
    package var descriptorUsage: @Sendable () -> (open: Int, limit: Int)
    /// pthread_create: 0.
    package var startThread: @Sendable (ProcessThread) -> Int32
}

extension SystemCalls {
    /// Returns whether a result of `openProcess` means that there is no such process.
    ///
    /// Kernels before 6.15 report EINVAL for a process that is being reaped; the arguments are right.
    static func isGone(_ result: Int32) -> Bool { result == -ESRCH || result == -EINVAL }
}
