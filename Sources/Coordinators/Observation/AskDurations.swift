import ConcurrencySupport
import WireProtocol

/// The times that asks have taken in their handlers' processes, by the coordinator and the message.
package struct AskDurations: Sendable, Hashable {
    /// The asks that are counted together.
    package struct Key: Sendable, Hashable, Codable {
        /// The path of the coordinator whose row has answered or intercepted the ask.
        package var path: String
        package var message: String
        /// Whether the row has thrown.
        package var hasFailed: Bool
    }

    /// The number of keys, beyond which asks are counted under ``Key/other(hasFailed:)``: a tree may have any number of paths in its life.
    package static let limit = 500

    package private(set) var histograms: [Key: Histogram] = [:]

    package init() {}

    /// Counts an ask.
    mutating func count(_ key: Key, _ duration: Duration) { histograms[place(of: key), default: Histogram()].count(duration) }

    /// Returns the key under which asks are counted.
    private func place(of key: Key) -> Key {
        if histograms[key] != nil { return key }
        let isShort = key.path.utf8.count + key.message.utf8.count <= 512
        return histograms.count < Self.limit && isShort ? key : .other(hasFailed: key.hasFailed)
    }
}

extension AskDurations.Key {
    /// The key of all asks for which there is no room.
    static func other(hasFailed: Bool) -> Self { Self(path: "(other)", message: "(other)", hasFailed: hasFailed) }
}

/// Durations, counted in buckets.
package struct Histogram: Sendable, Hashable {
    /// The upper bounds of the buckets, each of which holds the durations up to its bound; the last bucket has none.
    package static let bounds: [Duration] = [
        .microseconds(50), .microseconds(100), .microseconds(250), .microseconds(500),
        .milliseconds(1), .microseconds(2500), .milliseconds(5), .milliseconds(10), .milliseconds(25), .milliseconds(50),
        .milliseconds(100),
        .milliseconds(250), .milliseconds(500), .seconds(1), .milliseconds(2500), .seconds(5), .seconds(10),
    ]

    /// The number of durations in each bucket.
    package private(set) var counts = [UInt64](repeating: 0, count: Self.bounds.count + 1)
    /// The sum of the durations, in nanoseconds.
    package private(set) var sum: UInt64 = 0

    package var count: UInt64 { counts.reduce(0) { $0.addingSaturating($1) } }

    mutating func count(_ duration: Duration) {
        let bucket = Self.bounds.firstIndex { duration <= $0 } ?? Self.bounds.count
        counts[bucket] = counts[bucket].addingSaturating(1)
        sum = sum.addingSaturating(UInt64(clamping: duration.nanosecondsClamped))
    }

    mutating func add(_ other: Histogram) {
        for index in counts.indices { counts[index] = counts[index].addingSaturating(other.counts[index]) }
        sum = sum.addingSaturating(other.sum)
    }
}

extension Histogram: Codable {
    private enum CodingKeys: String, CodingKey { case counts, sum }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let counts = try container.decode([UInt64].self, forKey: .counts)
        guard counts.count == self.counts.count else {
            throw DecodingError.dataCorruptedError(forKey: .counts, in: container, debugDescription: "another number of buckets")
        }
        self.counts = counts
        sum = try container.decode(UInt64.self, forKey: .sum)
    }
}

extension AskDurations: UpwardReport {
    private struct Entry: Codable {
        var key: Key
        var histogram: Histogram
    }

    static let notification = "coordinators.asks"

    var isEmpty: Bool { histograms.isEmpty }

    func subjectOutside(of path: CoordinatorPath) -> String? {
        histograms.keys.first { $0 != .other(hasFailed: $0.hasFailed) && CoordinatorPath($0.path)?.isWithin(path) != true }?.path
    }

    mutating func add(_ other: AskDurations) {
        for (key, histogram) in other.histograms { histograms[place(of: key), default: Histogram()].add(histogram) }
    }

    package init(from decoder: any Decoder) throws {
        var container = try decoder.unkeyedContainer()
        // With those of the asks for which there was no room.
        while !container.isAtEnd, histograms.count < Self.limit + 2 {
            let entry = try container.decode(Entry.self)
            histograms[entry.key, default: Histogram()].add(entry.histogram)
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.unkeyedContainer()
        for (key, histogram) in histograms { try container.encode(Entry(key: key, histogram: histogram)) }
    }
}
