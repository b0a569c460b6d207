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
            field.value = value(of: field)
            masked.append(field)
        }
        return masked
    }

    private static func value(of field: HTTPField) -> String {
        switch field.name {
        case .setCookie: cookie(field.value)
        case .location, .contentLocation: location(field.value)
        case .wwwAuthenticate, .proxyAuthenticate: challenges(field.value)
        default: SecretNames.contains(header: field.name.rawName) ? mask : items(field.value)
        }
    }

    /// Challenges ask for a credential, and have none, but for schemes whose tokens go to and fro.
    private static func challenges(_ value: String) -> String {
        let token = /\b(Negotiate|NTLM|Kerberos)\s+[^\s,]+/.ignoresCase().matchingSemantics(.unicodeScalar)
        return items(value).replacing(token) { "\($0.output.1) \(mask)" }
    }

    // By scalars, as all that follows: as a character, a sign is none where a mark follows that combines with it.
    private static func cookie(_ value: String) -> String {
        let pair = /^([^;=]*=)?[^;]*/.matchingSemantics(.unicodeScalar)
        return value.replacing(pair, maxReplacements: 1) { "\($0.output.1 ?? "")\(mask)" }
    }

    // A fragment may hold a token, and is never sent. What stands before "@" has no name to be masked under: it goes.
    private static func location(_ value: String) -> String {
        let userInfo = /^((?:[A-Za-z][A-Za-z0-9+.\-]*:)?\/\/)[^\/?]*@/.matchingSemantics(.unicodeScalar)
        let sent = String(value.unicodeScalars.prefix { $0 != "#" }).replacing(userInfo) { $0.output.1 }
        let parts = sent.unicodeScalars.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        return parts.count == 2 ? "\(String(parts[0]))?\(form(String(parts[1])))" : sent
    }

    /// Items of the queries and fragments of URLs, wherever they stand in a text.
    static func items(_ text: String) -> String {
        guard text.utf8.contains(UInt8(ascii: "=")) else { return text }
        let item = /([?&#])([^?&#=\s"<>]+)=[^&#\s"<>]*/.matchingSemantics(.unicodeScalar)
        return text.replacing(item) { match in
            let (whole, begin, name) = match.output
            return SecretNames.contains(item: whole.dropFirst()) ? "\(begin)\(name)=\(mask)" : String(whole)
        }
    }

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

    /// A body of which nobody says what it is: a form, unless it begins as JSON does.
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
