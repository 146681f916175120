/// The figures of the last hour: a point each ten seconds.
struct Series: Sendable {
    /// The seconds between two points.
    static let interval = 10
    /// The number of points.
    static let capacity = 360

    /// One point; nil is what isn't known.
    struct Point: Sendable {
        var rate: Float?
        var waiting: Float?
        var restarts: Float?
        /// The time within which half of the asks were answered, in seconds, and that of 99 percent of them.
        var median: Float?
        var p99: Float?
        /// The processor time of the processes in percent of one processor, and their memory in bytes.
        var percent: Float?
        var memory: Float?
    }

    private var points: [Point] = []
    /// The place of the oldest point once the ring is full.
    private var oldest = 0

    mutating func append(_ point: Point) {
        if points.count < Self.capacity {
            points.append(point)
        } else {
            points[oldest] = point
            oldest = (oldest + 1) % Self.capacity
        }
    }

    /// Appends points of which nothing is known.
    mutating func appendGap(_ count: Int) { for _ in 0..<count { append(Point()) } }

    /// The points, oldest first.
    var ordered: [Point] { Array(points[oldest...] + points[..<oldest]) }
}

/// The figures of the last hour, as browsers get them.
struct SeriesReport: Codable, Sendable {
    var interval: Int
    /// The time of the last point, in milliseconds since 1970.
    var end: Int64
    var rate: [Float?]
    var waiting: [Float?]
    var restarts: [Float?]
    var median: [Float?]
    var p99: [Float?]
    var percent: [Float?]
    var memory: [Float?]

    private enum CodingKeys: String, CodingKey {
        case rate, waiting, restarts, end, p99, memory
        case interval = "interval_s"
        case median = "p50"
        case percent = "cpu"
    }

    init(_ series: Series, end: Int64) {
        let points = series.ordered
        interval = Series.interval
        self.end = end
        rate = points.map(\.rate)
        waiting = points.map(\.waiting)
        restarts = points.map(\.restarts)
        median = points.map(\.median)
        p99 = points.map(\.p99)
        percent = points.map(\.percent)
        memory = points.map(\.memory)
    }
}
