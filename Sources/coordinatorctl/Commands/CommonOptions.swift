import ArgumentParser
import Control
import Processes

/// The options of every command; they may be given before or after its name.
struct CommonOptions: ParsableArguments {
    @Option(name: .customLong("runtime-dir"), help: ArgumentHelp("The daemon's runtime directory.", valueName: "directory"))
    var runtimeDirectory: String?

    @Flag(name: .customLong("json"), help: "Print one JSON object.")
    var isJSON = false

    /// Returns these options, given after the command's name, with those before its name where these have none.
    func merged(over earlier: CommonOptions) -> CommonOptions {
        var merged = self
        merged.runtimeDirectory = runtimeDirectory ?? earlier.runtimeDirectory
        merged.isJSON = isJSON || earlier.isJSON
        return merged
    }
}

/// The values of the common options.
struct CommonValues {
    var runtimeDirectory: String?
    var isJSON = false

    /// Returns the runtime directory of the daemon that the options name.
    ///
    /// A command that connects several times looks once, and keeps what it has found: while that daemon is away, another one may be found.
    func directory() throws(ControlError) -> RuntimeDirectory { try RuntimeDirectory.find(option: runtimeDirectory) }

    /// Connects to the daemon that the options name.
    func connect(_ patience: ClientPatience = ClientPatience()) throws(ControlError) -> BlockingControlClient {
        try BlockingControlClient.connected(to: try directory(), patience: patience)
    }
}

extension CommonOptions {
    /// The values, without the parser's knowledge of them.
    var values: CommonValues { CommonValues(runtimeDirectory: runtimeDirectory, isJSON: isJSON) }

    /// Returns the runtime directory of the daemon that the options name, as ``CommonValues/directory()``.
    func directory() throws(ControlError) -> RuntimeDirectory { try values.directory() }

    /// Connects to the daemon that the options name.
    func connect(_ patience: ClientPatience = ClientPatience()) throws(ControlError) -> BlockingControlClient {
        try values.connect(patience)
    }
}
