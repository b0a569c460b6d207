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
            masked.append(field)
        }
        return masked
    }

    /// Text of JSON or of a form, the rest as it stands; what is neither is left alone.
    static func body(_ data: Data, _ headers: HTTPFields) -> Data {
        guard let text = String(validating: data, as: UTF8.self) else { return data }
        let isForm = headers[.contentType]?.hasPrefix("application/x-www-form-urlencoded") ?? false
        return Data((isForm ? form(text) : json(text)).utf8)
    }

    private static func form(_ text: String) -> String {
        text.split(separator: "&", omittingEmptySubsequences: false).map { item in
            let name = item.prefix { $0 != "=" }
            return SecretNames.contains(parameter: String(name)) ? "\(name)=\(mask)" : String(item)
        }.joined(separator: "&")
    }

    /// Members whose values are texts or numbers, wherever they stand.
    private static func json(_ text: String) -> String {
        let member = /"((?:[^"\\]|\\.)*)"(\s*:\s*)(?:"(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*)/
        return text.replacing(member) { match in
            let name = String(match.output.1)
            return SecretNames.contains(member: name)
                ? "\"\(name)\"\(match.output.2)\"\(mask)\"" : String(match.output.0)
        }
    }
}
