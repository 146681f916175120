import CProcess
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

extension SystemCalls {
    /// The kernel's own calls.
    package static let live = SystemCalls(
        spawn: { $0.run() },
        openProcess: { coordinator_process_open($0) },
        signalProcess: { coordinator_process_signal($0, $1) },
        signalGroupOfProcess: { coordinator_process_signal_group($0, $1) },
        signalGroup: { groupID, signal in
            // To kill(2), 0 means the caller's own group and -1 all processes.
            guard groupID > 1 else { return -EINVAL }
            return kill(-groupID, signal) < 0 ? -Glibc.errno : 0
        },
        reap: { descriptor in
            var exit = coordinator_process_exit()
            let result = coordinator_process_reap(descriptor, &exit)
            return Reaped(result, exit)
        },
        foreignExit: { descriptor in
            var exit = coordinator_process_exit()
            let result = coordinator_process_foreign_exit(descriptor, &exit)
            return Reaped(result, exit)
        },
        reapNumber: { coordinator_process_reap_number($0, $1 ? 1 : 0) },
        statistics: { processID in
            var result = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: 1024) { buffer, count in
                result = coordinator_process_read_file("/proc/\(processID)/stat", buffer.baseAddress, buffer.count)
                count = max(0, result)
            }
            if result < 0 { return Contents(failure: result) }
            return bytes.isEmpty ? .absent : .bytes(bytes)
        },
        pipe: {
            var reading: Int32 = -1
            var writing: Int32 = -1
            let result = coordinator_process_pipe(&reading, &writing)
            return result < 0 ? (result, -1) : (reading, writing)
        },
        makeFIFO: { path, size in
            var reading: Int32 = -1
            var writing: Int32 = -1
            let result = coordinator_process_make_fifo(path, size, &reading, &writing)
            return result < 0 ? (result, -1) : (reading, writing)
        },
        datagramSocket: { coordinator_process_datagram_socket($0, $1) },
        openFIFO: { coordinator_process_open_fifo($0) },
        lockFile: { coordinator_process_lock_file($0) },
        unlink: { _ = Glibc.unlink($0) },
        duplicate: { coordinator_process_duplicate($0, $1) },
        close: { _ = Glibc.close($0) },
        read: { coordinator_process_read($0, $1.baseAddress, $1.count) },
        available: { coordinator_process_available($0) },
        eventDescriptor: { coordinator_process_event_descriptor() },
        wake: { descriptor in
            var one: UInt64 = 1
            // The only failure is a full counter, and that wakes too.
            _ = write(descriptor, &one, 8)
        },
        pollDescriptor: { coordinator_process_poll_descriptor() },
        pollAdd: { coordinator_process_poll_add($0, $1, $2) },
        pollRemove: { _ = coordinator_process_poll_remove($0, $1) },
        pollWait: { coordinator_process_poll_wait($0, $1.baseAddress, Int32($1.count), $2) },
        descriptorUsage: { (ResourceLimits.openDescriptorCount, ResourceLimits.softLimit) },
        startThread: { thread in
            // Unsafe: pthread_create takes one pointer. The thread takes the reference back, or this function does when there is no thread.
            let reference = Unmanaged.passRetained(thread)
            let result = coordinator_process_start_thread(
                { context in
                    guard let context else { return }
                    Unmanaged<ProcessThread>.fromOpaque(context).takeRetainedValue().run()
                },
                reference.toOpaque()
            )
            if result < 0 { reference.release() }
            return result
        }
    )

    /// Reads the kernel's data about a process; nil when there is none to be seen.
    ///
    /// - Throws: An error when the data could not be read.
    func parsedStatistics(of processID: Int32) throws(ProcessError) -> ProcessStatistics? {
        guard processID > 0 else { return nil }
        switch statistics(processID) {
        case .bytes(let bytes): return ProcessStatistics(parsing: bytes)
        case .absent, .hidden: return nil
        case .failed(let errno): throw ProcessError(errno, action: "look at process \(processID)")
        }
    }
}

extension SystemCalls.Reaped {
    /// - Parameter result: 1 when the process has ended, 0 when it hasn't, or a negated errno.
    fileprivate init(_ result: Int32, _ exit: coordinator_process_exit) {
        self =
            switch result {
            case 1 where exit.signal == 0: .ended(.exited(code: exit.code))
            case 1: .ended(.signaled(Signal(rawValue: exit.signal), coreDumped: exit.core_dumped != 0))
            case 0: .stillRunning
            default: .failed(errno: -result)
            }
    }
}
