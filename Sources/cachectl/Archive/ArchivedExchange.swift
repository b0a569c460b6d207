#if Tools
import Diamond
import Foundation
import HTTPTypes

/// A stored response with its request, as an entry of an HTTP archive, version 1.2
/// (https://w3c.github.io/web-performance/specs/HAR/Overview.html).
struct ArchivedExchange {
    let request: ArchivedRequest
    let response: StoredResponse
    /// Whether the secrets of the response are masked.
    let isMasked: Bool

    var form: JSONObject {
        let sentAt = response.storedAt - response.duration
        let timings: JSONObject = ["send": 0, "wait": response.duration, "receive": 0]
        return [
            "startedDateTime": InternetTime.text(sentAt.date) ?? Quantity.instant(sentAt), "time": response.duration,
            "request": request.form, "response": responseForm, "cache": [:] as JSONObject, "timings": timings,
            // An extension: names that begin with _ are free.
            "_identity": request.identity,
        ]
    }

    private var responseForm: JSONObject {
        let headers = response.headers
        return [
            "status": response.status, "statusText": "",
            "httpVersion": "HTTP/1.1", "cookies": [String](),
            "headers": headers.map { field in
                NamedValue(name: field.name.rawName, value: isMasked ? SecretNames.masked(field) : field.value)
            },
            "content": content(type: headers[.contentType] ?? ""), "redirectURL": redirect(in: headers),
            "headersSize": -1, "bodySize": -1,
        ]
    }

    private func redirect(in headers: HTTPFields) -> String {
        guard let location = headers.first(where: { $0.name == .location }) else { return "" }
        return isMasked ? SecretNames.masked(location) : location.value
    }

    private func content(type: String) -> JSONObject {
        let body = isMasked ? Masking.shown(response.body, headers: response.headers) : response.body
        let text = String(validating: body, as: UTF8.self)
        return [
            "size": body.count, "mimeType": type.isEmpty ? "application/octet-stream" : type,
            "text": text ?? body.base64EncodedString(), "encoding": text == nil ? "base64" : nil,
        ]
    }
}

/// A name and a value in an archive or on a page.
struct NamedValue: Codable {
    static let mask = "•••"

    var name: String
    var value: String

    var isMasked: Bool { value.contains(Self.mask) }

    static func all(_ pairs: KeyValuePairs<String, String>) -> [NamedValue] {
        pairs.map { NamedValue(name: $0.key, value: $0.value) }
    }
}

/// The request of an entry, as its canonical form has it: with the fields and the body that select the response.
struct ArchivedRequest {
    let method: String
    let url: String
    private(set) var identity: String?
    private(set) var headers: [NamedValue] = []
    private(set) var type: String?
    private(set) var bodies: [String] = []

    /// - Parameter url: The URL for display, with its secrets masked.
    init(form: String, method: String, url: String) {
        self.method = method
        self.url = (ForwardedURL(inForm: form)?.text ?? url)
        for line in form.split(separator: "\n") { read(line) }
    }

    private mutating func read(_ line: Substring) {
        let words = line.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard words.count == 2 else { return }
        let content = words[1].split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        switch words[0] {
        case "identity": identity = words[1].removingPercentEncoding
        case "header": add(content[0], content.last)
        case "secret-header": add(content[0], NamedValue.mask)
        case "credential" where content[0] == "header":
            add(String(content.last?.prefix { $0 != " " } ?? ""), NamedValue.mask)
        case "vary" where content.count == 2 && !headers.contains { $0.name == content[0] }:
            let isSecret = HTTPField.Name(content[0]).map { KeyRules().isCredential($0) } ?? true
            add(content[0], isSecret ? NamedValue.mask : content[1].removingPercentEncoding)
        case "type": type = words[1]
        case "json", "field": bodies.append(words[1])
        case "secret-json": bodies.append(NamedValue.mask)
        case "secret-field": bodies.append("\(content[0])=\(NamedValue.mask)")
        default: break
        }
    }

    private mutating func add(_ name: String, _ value: String?) {
        headers.append(NamedValue(name: name, value: value ?? ""))
    }

    var form: JSONObject {
        // A mask is no character of a URL.
        let mask = NamedValue.mask.addingPercentEncoding(withAllowedCharacters: []) ?? ""
        let body = bodies.joined(separator: "&")
        let post: JSONObject? = type.map { ["mimeType": $0, "params": [String](), "text": body] }
        return [
            "method": method, "url": url.replacing(NamedValue.mask, with: mask), "httpVersion": "HTTP/1.1",
            "cookies": [String](), "headers": headers, "queryString": query, "postData": post, "headersSize": -1,
            "bodySize": post == nil ? 0 : body.utf8.count,
        ]
    }

    private var query: [NamedValue] {
        guard let mark = url.firstIndex(of: "?") else { return [] }
        return url[mark...].dropFirst().split(separator: "&").map { item in
            let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let texts = parts.map { $0.removingPercentEncoding ?? $0 }
            return NamedValue(name: texts[0], value: texts.count > 1 ? texts[1] : "")
        }
    }
}
#endif
