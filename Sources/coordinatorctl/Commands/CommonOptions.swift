import ArgumentParser

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
