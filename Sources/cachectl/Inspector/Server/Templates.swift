#if Tools
import Foundation
import Mustache

/// The templates of the pages. They escape all values: none has `{{{` or `{{&`.
enum Templates {
    private static let suffix = ".mustache"

    private static let library: MustacheLibrary = {
        MustacheContentTypes.register(PageText(), named: PageText.name)
        var library = MustacheLibrary()
        for file in Assets.files.keys where file.hasSuffix(suffix) {
            let text = "{{% CONTENT_TYPE: \(PageText.name)}}\n" + Assets.text(file)
            // A test renders each template.
            try? library.register(text, named: String(file.dropLast(suffix.count)))
        }
        return library
    }()

    /// Returns HTML; empty if the template is missing or malformed.
    static func render(_ name: String, _ value: Any) -> String { library.render(value, withTemplate: name) ?? "" }
}

/// Escapes each scalar that HTML gives a meaning.
///
/// The escaping of the library looks at characters. It leaves a quotation mark with a combining mark after it, which
/// ends the value of an attribute.
private struct PageText: MustacheContentType {
    static let name = "PAGE"

    private static let escapes: [Unicode.Scalar: String] = [
        "<": "&lt;", ">": "&gt;", "&": "&amp;", "\"": "&quot;", "'": "&#39;", "`": "&#96;", "\u{0}": "\u{FFFD}",
    ]

    func escapeText(_ text: String) -> String {
        text.unicodeScalars.reduce(into: "") { escaped, scalar in
            if let name = Self.escapes[scalar] { escaped += name } else { escaped.unicodeScalars.append(scalar) }
        }
    }
}
#endif
