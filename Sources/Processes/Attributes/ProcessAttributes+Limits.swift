import Glibc

extension ProcessAttributes {
    /// A resource that setrlimit(2) limits, by the name that it has there.
    public enum Resource: String, Sendable, Hashable, Codable, CaseIterable, CodingKeyRepresentable {
        /// The bytes of address space (RLIMIT_AS).
        case addressSpace = "as"
        /// The bytes of a core dump; 0 forbids core dumps (RLIMIT_CORE).
        case core
        /// The seconds of processor time (RLIMIT_CPU).
        case cpuTime = "cpu"
        /// The bytes of data (RLIMIT_DATA).
        case data
        /// The bytes of a file that is written (RLIMIT_FSIZE).
        case fileSize = "fsize"
        /// The bytes of memory that is locked into RAM (RLIMIT_MEMLOCK).
        case lockedMemory = "memlock"
        /// The number of descriptors (RLIMIT_NOFILE).
        case openFiles = "nofile"
        /// The number of processes and threads of the user, all of them together (RLIMIT_NPROC); root has no such limit.
        case processes = "nproc"
        /// The bytes of the first thread's stack (RLIMIT_STACK).
        case stack

        /// The number of the kernel.
        var number: Int32 {
            let resource =
                switch self {
                case .addressSpace: RLIMIT_AS
                case .core: RLIMIT_CORE
                case .cpuTime: RLIMIT_CPU
                case .data: RLIMIT_DATA
                case .fileSize: RLIMIT_FSIZE
                case .lockedMemory: __RLIMIT_MEMLOCK
                case .openFiles: RLIMIT_NOFILE
                case .processes: __RLIMIT_NPROC
                case .stack: RLIMIT_STACK
                }
            return Int32(resource.rawValue)
        }

        /// Whether the limit counts bytes.
        package var isInBytes: Bool {
            switch self {
            case .addressSpace, .core, .data, .fileSize, .lockedMemory, .stack: true
            case .cpuTime, .openFiles, .processes: false
            }
        }
    }

    /// The limit of a resource.
    public struct Limit: Sendable, Hashable, Codable {
        /// The limit that holds, which the process may raise up to ``hard``; nil: none.
        public var soft: UInt64?
        /// The limit that only root may raise; nil: none.
        public var hard: UInt64?

        /// No limit.
        public static let unlimited = Limit(soft: nil, hard: nil)

        /// Creates a limit.
        public init(soft: UInt64?, hard: UInt64?) {
            self.soft = soft
            self.hard = hard
        }

        /// Creates a limit that the process can't raise.
        public init(_ value: UInt64) { self.init(soft: value, hard: value) }
    }
}
