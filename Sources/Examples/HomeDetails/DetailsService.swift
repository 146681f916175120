/// Knows the details of all items.
protocol DetailsService: Sendable {
    /// What there is to say of an item.
    func text(of item: Int) async throws -> String
}

/// Knows them in one language.
struct LocalizedDetails: DetailsService {
    private let introduction: String

    /// Opens the details of a language.
    ///
    /// - Throws: `UnknownLanguage`.
    init(language: String) throws(UnknownLanguage) {
        switch language {
        case "en": introduction = "all about item"
        case "de": introduction = "alles über Artikel"
        default: throw UnknownLanguage(language: language)
        }
    }

    func text(of item: Int) async throws -> String { "\(introduction) \(item)" }
}

/// There are no details in the language.
struct UnknownLanguage: Error, Codable, Equatable {
    var language: String
}
