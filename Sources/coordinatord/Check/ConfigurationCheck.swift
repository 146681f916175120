import Control
import CoordinatorDaemon
import DaemonConfiguration

/// The check of a configuration file, which starts nothing.
struct ConfigurationCheck {
    /// The path of the file.
    let file: String
    /// Whether the result is one JSON object.
    let isJSON: Bool
    /// Whether executables and directories that the file names must be there.
    let checksFiles: Bool

    /// Reads the file, and looks for the executables and directories that it names.
    ///
    /// - Returns: The text for standard output and for standard error, and the exit code.
    func result() throws(ControlError) -> (output: String, errors: String, exitCode: Int32) {
        let configuration: DaemonConfiguration
        do throws(ConfigurationError) {
            configuration = try DaemonConfiguration.load(path: file, checkingFiles: checksFiles)
        } catch {
            let text = isJSON ? try ControlJSON.text(of: ConfigurationReport(of: error)) : PrintableText.lines(error.description)
            return ("", text + "\n", error.code.exitCode)
        }
        let summary = ConfigurationSummary(of: configuration, file: file)
        if isJSON { return (try ControlJSON.text(of: summary) + "\n", "", 0) }
        return (summary.text, configuration.clusterRemark.map { PrintableText.lines("\(file): \($0)") + "\n" } ?? "", 0)
    }
}
