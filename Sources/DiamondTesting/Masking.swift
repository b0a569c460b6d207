import Diamond
import Foundation
import HTTPTypes

/// Takes out of a message what says by its name that it is secret.
enum Masking {
    private static let mask = "•••"

    static func url(_ url: String) -> String { SecretNames.masked(url) }

    static func headers(_ headers: HTTPFields) -> HTTPFields {
        var masked: HTTPFields = [:]
        for var field in headers {
            if SecretNames.contains(header: field.name.rawName) { field.value = mask }
            if [.location, .contentLocation].contains(field.name) { field.value = location(field.value) }
            masked.append(field)
        }
        return masked
    }

    // A fragment may hold a token, and is never sent. What stands before "@" has no name to be masked under: it goes.
    private static func location(_ value: String) -> String {
        let sent = value.prefix { $0 != "#" }.replacing(/^((?:[A-Za-z][A-Za-z0-9+.\-]*:)?\/\/)[^\/?]*@/) { $0.output.1 }
        let parts = sent.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        return parts.count == 2 ? "\(parts[0])?\(form(String(parts[1])))" : String(parts.first ?? "")
    }

    /// Text of JSON or of a form, the rest as it stands; what is neither is left alone.
    static func body(_ data: Data, _ headers: HTTPFields) -> Data {
        guard let text = String(validating: data, as: UTF8.self) else { return data }
        let isForm = headers[.contentType]?.lowercased().hasPrefix("application/x-www-form-urlencoded") ?? false
        return Data((isForm ? form(text) : json(text)).utf8)
    }

    private static func form(_ text: String) -> String {
        text.split(separator: "&", omittingEmptySubsequences: false).map { item in
            let name = item.prefix { $0 != "=" }
            return SecretNames.contains(parameter: String(name)) ? "\(name)=\(mask)" : String(item)
        }.joined(separator: "&")
    }

    /// Members whose values are texts or numbers, wherever they stand; a number stays one, for those who decode it.
    private static func json(_ text: String) -> String {
        // Any other text as well: else the quote that ends one could be taken for one that begins a name.
        let member = /"((?:[^"\\]|\\.)*)"(?:(\s*:\s*)(?:(")(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*))?/
        return text.replacing(member) { match in
            let (whole, name, colon, quote) = match.output
            guard let colon, SecretNames.contains(member: String(name)) else { return String(whole) }
            return "\"\(name)\"\(colon)" + (quote == nil ? "0" : "\"\(mask)\"")
        }
    }
}
