import Control
import CoordinatorDaemon
import DaemonConfiguration
import Migration

/// The output of `--import`.
struct ImportResult {
    /// The text for standard output: the daemon's file, or one JSON object.
    let output: String
    /// The text for standard error: what isn't carried over, one thing a line.
    let errors: String
    let exitCode: Int32

    init(file: String, format: ConfigurationImport.Format?, isJSON: Bool) throws(ControlError) {
        let imported: ConfigurationImport
        do throws(ConfigurationError) {
            imported = try ConfigurationImport(path: file, format: format)
        } catch {
            output = ""
            errors = (isJSON ? try ControlJSON.text(of: ConfigurationReport(of: error)) : PrintableText.lines(error.description)) + "\n"
            exitCode = error.code.exitCode
            return
        }
        output = isJSON ? try ControlJSON.text(of: imported) + "\n" : imported.yaml
        errors = isJSON ? "" : imported.notes.map { PrintableText.lines($0.description) + "\n" }.joined()
        exitCode = 0
    }
}
