import TestSupport

/// What the folders of the library import, as the guide for contributors says and as they do.
enum FolderImports {
    /// What every folder may import.
    private static let common: Set = ["ConcurrencySupport", "DequeModule", "Glibc", "Synchronization"]
    /// The modules of packages, by the packages' names.
    private static let packages = ["swift-log": ["Logging"], "swift-service-lifecycle": ["ServiceLifecycle", "UnixSignals"]]

    /// The modules that each folder imports.
    static var folders: [String: Set<String>] {
        let root = "\(Files.packageRoot)/Sources/Coordinators"
        let names = Files.names(in: root).filter { !$0.contains(".") }
        return Dictionary(uniqueKeysWithValues: names.map { ($0, imports(below: "\(root)/\($0)")) })
    }

    /// The modules that each folder may import, by the table in the text of the guide.
    static func described(in text: String) -> [String: Set<String>] {
        Dictionary(
            uniqueKeysWithValues: rows(in: text).compactMap { cells in
                guard cells.count == 4, let folder = names(in: cells[0]).first else { return nil }
                let modules = packages.flatMap { cells[3].contains($0.key) ? $0.value : [] }
                return (folder, common.union(names(in: cells[3])).union(modules))
            }
        )
    }

    /// The folders from the uppermost layer down, by the same table.
    static func order(in text: String) -> [String] { rows(in: text).compactMap { $0.first.flatMap { names(in: $0).first } } }

    private static func rows(in text: String) -> [[String]] {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        let table = lines.drop { !$0.hasPrefix("| folder of `Sources/Coordinators`") }.prefix { $0.hasPrefix("|") }
        return table.dropFirst(2).map { $0.split(separator: "|").map(String.init) }
    }

    static func imports(below folder: String) -> Set<String> {
        var modules: Set<String> = []
        for file in Catalogue.files(below: folder) {
            for line in (Files.text(of: file) ?? "").split(separator: "\n") {
                let words = line.split(separator: " ")
                guard !line.hasPrefix("//"), let keyword = words.firstIndex(of: "import"), keyword <= 1, let module = words.last else {
                    continue
                }
                modules.insert(String(module))
            }
        }
        return modules
    }

    /// The words between backticks.
    private static func names(in cell: String) -> [String] {
        cell.split(separator: "`", omittingEmptySubsequences: false).enumerated().filter { $0.offset % 2 == 1 }.map { String($0.element) }
    }
}
