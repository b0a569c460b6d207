import Foundation
import HTTPTypes

/// The written form of a response, the value of `response` in the written form of a connection:
///
/// ```json
/// {"status": 200, "headers": [["Content-Type", "application/json"]], "body": {"text": "{}"}, "source": "cache",
///  "url": "https://api.example.com/cities",
///  "attempts": [{"number": 1, "startedAt": 1767225600.25, "status": 503, "delay": 0.05,
///                "reason": {"code": "status", "message": "status 503 may be temporary"}},
///               {"number": 2, "startedAt": 1767225600.3, "status": 200}]}
/// ```
///
/// Only `status` is required. `body` is `{"text": …}` or `{"base64": …}`. An attempt without a response has `error`
/// with `code` and `message` instead of `status`. Times are seconds since 1970 and delays are seconds, both with
/// millisecond precision. A header that is a credential, such as `Set-Cookie`, or that contains a URL with a secret, is
/// neither written nor stored. Secret parameters of the URL are masked. An unknown key is an error.
extension Response: Written {
    init(written: JSONValue) throws(RequestError) {
        var form = try WrittenObject(written, in: "the response")
        guard let code = try form.integer("status", in: 100...999) else {
            throw form.failure(at: "status", "is missing: write a number such as 200")
        }
        self.init(status: HTTPResponse.Status(code: code))
        if let value = form.consume("headers") { headers = try HTTPFields(written: value, key: "headers") }
        if let value = form.consume("body") { body = try Self.body(value) }
        if let name = try form.string("source") { source = try form.choice(name, for: "source") }
        url = try form.string("url") ?? ""
        attempts = try form.array("attempts").map { value throws(RequestError) in try Attempt(written: value) }
        try form.finish()
    }

    private static func body(_ value: JSONValue) throws(RequestError) -> Data {
        var form = try WrittenObject(value, in: "the body")
        guard let body = try form.bytes() else {
            throw RequestError(.malformedRequest, "the body has neither text nor base64: give one")
        }
        try form.finish()
        return body
    }

    var written: JSONValue {
        var members: [String: JSONValue] = ["status": JSONValue(status.code)]
        let secrets = FieldSecrets()
        let headers = headers.filter { !secrets.holdsSecret($0) }
        if !headers.isEmpty { members["headers"] = HTTPFields(headers).written }
        if !body.isEmpty { members["body"] = .object(body.written) }
        if source != .network { members["source"] = .string(source.rawValue) }
        if !url.isEmpty { members["url"] = .string(secrets.masked(url: url)) }
        if !attempts.isEmpty { members["attempts"] = .array(attempts.map(\.written)) }
        return .object(members)
    }
}
