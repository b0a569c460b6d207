import Diamond
import Foundation
import HTTPTypes

/// Takes out of a message what says by its name that it is secret.
enum Masking {
    static let mask = "•••"

    static func url(_ url: String) -> String { SecretNames.masked(url) }

    static func headers(_ headers: HTTPFields) -> HTTPFields {
        var masked: HTTPFields = [:]
        for var field in headers {
            field.value = SecretNames.masked(field)
            masked.append(field)
        }
        return masked
    }

    /// Items of the queries and fragments of URLs, wherever they stand in a text.
    static func items(_ text: String) -> String { SecretNames.masked(urlsIn: text) }

    /// An answer's body and headers, which say how long that is now. Of an answer to HEAD there is none, and they stay.
    static func answer(_ body: Data, _ headers: HTTPFields) -> (body: Data, headers: HTTPFields) {
        let shown = self.body(body, headers)
        var masked = self.headers(headers)
        if shown.count != body.count, masked[.contentLength] != nil { masked[.contentLength] = "\(shown.count)" }
        return (shown, masked)
    }

    /// Text of a form or of JSON; what is neither is read as JSON, and left alone but for what looks like it.
    static func body(_ data: Data, _ headers: HTTPFields) -> Data {
        let type = headers[.contentType]?.lowercased() ?? ""
        return body(data, isForm: type.hasPrefix("application/x-www-form-urlencoded"))
    }

    /// Masks a body of unknown type as a form, unless it begins as JSON does.
    static func body(_ data: Data) -> Data {
        let json = /^\s*[{\["]/.matchingSemantics(.unicodeScalar)
        return body(data, isForm: String(decoding: data, as: UTF8.self).firstMatch(of: json) == nil)
    }

    private static func body(_ data: Data, isForm: Bool) -> Data {
        let masked = { (text: String) in isForm ? form(text) : JSONMasking.masked(text) }
        if let text = String(validating: data, as: UTF8.self) { return Data(masked(text).utf8) }
        // Another charset: all that names and signs are looked for by is ASCII, and each byte stays what it is.
        var text = String.UnicodeScalarView()
        text.append(contentsOf: data.lazy.map { Unicode.Scalar($0) })
        return masked(String(text)).unicodeScalars.reduce(into: Data()) { bytes, scalar in
            guard let byte = UInt8(exactly: scalar.value) else { return bytes.append(contentsOf: String(scalar).utf8) }
            bytes.append(byte)
        }
    }

    private static func form(_ text: String) -> String {
        text.unicodeScalars.split(separator: "&", omittingEmptySubsequences: false).map { item in
            let text = String(item)
            return SecretNames.contains(item: text) ? "\(String(item.prefix { $0 != "=" }))=\(mask)" : text
        }.joined(separator: "&")
    }
}
