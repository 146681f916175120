/// The times that asks have taken in a tree, by the coordinator and the message.
public struct TreeMetrics: Codable, Hashable, Sendable {
    /// The asks of one message that one coordinator has answered or intercepted, or that have failed there.
    public struct Asks: Codable, Hashable, Sendable {
        /// The path of the coordinator; `(other)` for the asks that no more room is kept for.
        public var path: String
        /// The message's name; `(other)` likewise.
        public var message: String
        /// Whether these are the asks that have failed.
        public var hasFailed: Bool
        /// The number of asks.
        public var count: UInt64
        /// The sum of their times, in seconds.
        public var sumSeconds: Double
        /// The number of asks in each bucket: one more than there are bounds.
        public var buckets: [UInt64]

        /// Creates the description of asks.
        public init(path: String, message: String, hasFailed: Bool, count: UInt64, sumSeconds: Double, buckets: [UInt64]) {
            (self.path, self.message, self.hasFailed) = (path, message, hasFailed)
            (self.count, self.sumSeconds, self.buckets) = (count, sumSeconds, buckets)
        }

        private enum CodingKeys: String, CodingKey {
            case path, message, count, buckets
            case hasFailed = "failed"
            case sumSeconds = "sum_seconds"
        }
    }

    /// Whether asks are counted: the configuration says so.
    public var isCounting: Bool
    /// The upper bounds of the buckets, in seconds; a bucket holds what isn't more than its bound, and the last one has none.
    public var boundsSeconds: [Double]
    /// The asks since the daemon started.
    public var asks: [Asks]

    /// The number of entries of the cluster's store that can't be read and are ignored; nil: the daemon is no node of a cluster.
    public var unreadableEntries: Int?

    /// A file by which a node and its peers know each other: certificates, a key, lists or a secret.
    public struct ClusterFile: Codable, Hashable, Sendable {
        /// The keys of the configuration that name it, such as `tls.certificate`.
        public var file: String
        /// The path of the file.
        public var path: String
        /// The time at which what is in use of it expires, in seconds since 1970; nil: it doesn't, or that isn't known.
        public var expirySeconds: Int?
        /// Why the files for the same peers weren't renewed, or are of no use; nil: all is well.
        public var problem: String?

        /// Creates the description of a file.
        public init(file: String, path: String, expirySeconds: Int? = nil, problem: String? = nil) {
            (self.file, self.path, self.expirySeconds, self.problem) = (file, path, expirySeconds, problem)
        }

        private enum CodingKeys: String, CodingKey {
            case file, path, problem
            case expirySeconds = "expiry_seconds"
        }
    }

    /// The files of a node's certificates and secrets; nil: the daemon is no node of a cluster.
    public var clusterFiles: [ClusterFile]?

    /// What a node of a cluster has to do with the store.
    public struct Cluster: Codable, Hashable, Sendable {
        /// The progress of the node's membership: `joining`, `member`, `frozen` or `left`.
        public var membership: String
        /// What becomes of placed children when the store is lost: `fence` or `freeze`.
        public var onStoreLoss: String
        /// Why the daemon isn't a member, or may not know what is true; nil: it's a member.
        public var outdated: String?
        /// The last loss of the node's lease since the daemon's start; nil: there was none.
        public var loss: Loss?

        /// Creates a description.
        public init(membership: String, onStoreLoss: String, outdated: String? = nil, loss: Loss? = nil) {
            (self.membership, self.onStoreLoss, self.outdated, self.loss) = (membership, onStoreLoss, outdated, loss)
        }

        /// The loss of a node's lease.
        public struct Loss: Codable, Hashable, Sendable {
            /// Why the lease was lost.
            public var reason: String
            /// The paths of the placed children that the node has stopped because of it.
            public var stopped: [String]
            /// The time since the loss, in seconds.
            public var secondsAgo: Int
            /// The time until the node was a member again, in seconds; nil: it isn't yet.
            public var secondsAbsent: Int?

            /// Creates a description.
            public init(reason: String, stopped: [String], secondsAgo: Int, secondsAbsent: Int? = nil) {
                (self.reason, self.stopped, self.secondsAgo, self.secondsAbsent) = (reason, stopped, secondsAgo, secondsAbsent)
            }

            private enum CodingKeys: String, CodingKey {
                case reason, stopped
                case secondsAgo = "seconds_ago"
                case secondsAbsent = "seconds_absent"
            }
        }

        private enum CodingKeys: String, CodingKey {
            case membership, outdated, loss
            case onStoreLoss = "on_store_loss"
        }
    }

    /// The node's membership in a cluster, and what the loss of the store has done; nil: the daemon is no node of a cluster.
    public var cluster: Cluster?

    /// The directory of the children's logs, if it's in memory, so that they are gone with the next boot; nil: it isn't.
    public var logsInMemory: String?

    /// What file systems haven't answered in time, and still hold: starts of children, reads of files and other calls, by what they are for;
    /// nil: the daemon doesn't tell it.
    public var fileSystemHangs: [String]?

    /// Creates the description of a tree's asks.
    public init(
        isCounting: Bool,
        boundsSeconds: [Double],
        asks: [Asks],
        unreadableEntries: Int? = nil,
        clusterFiles: [ClusterFile]? = nil
    ) {
        (self.unreadableEntries, self.clusterFiles) = (unreadableEntries, clusterFiles)
        (self.isCounting, self.boundsSeconds, self.asks) = (isCounting, boundsSeconds, asks)
    }

    private enum CodingKeys: String, CodingKey {
        case asks, cluster
        case isCounting = "counting"
        case boundsSeconds = "bounds_seconds"
        case unreadableEntries = "unreadable_entries"
        case clusterFiles = "cluster_files"
        case logsInMemory = "logs_in_memory"
        case fileSystemHangs = "file_system_hangs"
    }
}
