import Processes

/// What a program leaves to the one that takes its place in the same process, besides the workers, which the journal of processes lists.
package struct RuntimeHeritage: Codable, Sendable {
    /// A plain program that lives on.
    struct Program: Codable, Sendable {
        let path: String
        let incarnation: UInt32
        let process: KeptProcess
        /// The mark's entry by which its descendants are known.
        let entry: String
        let command: [String]
        /// Whether it has shown that it's ready.
        let isReady: Bool
        /// Its state, as it has told it.
        let status: String?
        /// The milliseconds that may pass between two signs of life, which the program may have changed.
        let watchdogMilliseconds: Int64?

        var family: ProcessFamily { ProcessFamily(leader: process.identity, entry: entry) }
    }

    var programs: [Program] = []
    /// The latest incarnation of each child of this process's coordinators.
    var incarnations: [String: UInt32] = [:]
    /// The children that were paused by name.
    var paused: [String] = []

    /// The descriptors that the next program has too.
    package var descriptors: [Int32] { programs.flatMap(\.process.descriptors) }
    /// The paths of the plain programs that live on.
    package var keptPrograms: [String] { programs.map(\.path) }
}
