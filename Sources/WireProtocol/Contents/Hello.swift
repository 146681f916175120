/// A worker's introduction: its process, the versions that it speaks, and the secret that proves that it was spawned for this link.
public struct Hello: Sendable, Hashable {
    /// The oldest version of the format that the worker speaks.
    public var minimumVersion: UInt8
    /// The newest version of the format that the worker speaks.
    public var maximumVersion: UInt8
    /// The ticket's secret.
    public var secret: [UInt8]
    /// The worker's process identifier.
    public var processID: Int32
    /// The time at which the kernel started the process, in clock ticks since boot (field 22 of `/proc/PID/stat`); 0 when unknown.
    public var processStartTime: UInt64
    /// The identifier of the build; peers with equal ones speak the compact codec.
    ///
    /// Empty for a peer in another language.
    public var buildID: String
    /// The largest frame that the worker accepts, in bytes.
    public var maximumFrameSize: UInt32

    /// Creates the content of a frame.
    public init(
        minimumVersion: UInt8 = Frame.version,
        maximumVersion: UInt8 = Frame.version,
        secret: [UInt8],
        processID: Int32,
        processStartTime: UInt64,
        buildID: String,
        maximumFrameSize: UInt32
    ) {
        self.minimumVersion = minimumVersion
        self.maximumVersion = maximumVersion
        self.secret = secret
        self.processID = processID
        self.processStartTime = processStartTime
        self.buildID = buildID
        self.maximumFrameSize = maximumFrameSize
    }
}

extension Hello: CustomStringConvertible {
    /// The worker's identity, without its secret.
    public var description: String {
        "Hello(processID: \(processID), buildID: \(buildID), versions: \(minimumVersion)...\(maximumVersion))"
    }
}

extension Hello {
    func encode(into batch: inout [UInt8]) {
        batch.append(minimumVersion)
        batch.append(maximumVersion)
        batch.appendInteger(processID)
        batch.appendInteger(processStartTime)
        batch.appendInteger(maximumFrameSize)
        batch.appendField(secret[...])
        batch.appendText(buildID)
    }

    init(from body: inout ByteReader, limits: FrameLimits) throws(WireError) {
        let minimum = try body.integer(UInt8.self)
        let maximum = try body.integer(UInt8.self)
        guard minimum <= maximum else {
            throw WireError(.malformed, "versions \(minimum) to \(maximum) are no range", offset: body.position - 2)
        }
        let processID = try body.integer(Int32.self)
        let startTime = try body.integer(UInt64.self)
        let size = try body.integer(UInt32.self)
        let secretOffset = body.position
        let secret = try body.field()
        guard secret.count <= limits.maximumSecretLength else {
            let message = "a secret of \(secret.count) bytes is longer than \(limits.maximumSecretLength)"
            throw WireError(.tooLarge, message, offset: secretOffset)
        }
        self.init(
            minimumVersion: minimum,
            maximumVersion: maximum,
            secret: Array(secret),
            processID: processID,
            processStartTime: startTime,
            buildID: try body.text(limit: limits.maximumNameLength),
            maximumFrameSize: size
        )
    }
}
