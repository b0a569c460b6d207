import Foundation
import HTTPTypes

extension SecretValues {
    /// Finds the secret values of a request: of its headers, of its query, and of a body that is a form or JSON.
    ///
    /// - Parameters:
    ///   - url: the URL that is sent.
    ///   - body: the bytes of the body; `nil` if there are none in memory.
    ///   - known: values that are secret, whatever the names of their places.
    ///   - rules: the rules of the engine and of the request.
    init(headers: HTTPFields, url: String, body: Data?, known: [String] = [], rules: KeyRules) {
        let url = try? RequestURL(parsing: url)
        var values = known
        for field in headers where rules.isCredential(field.name) { values += field.secretValues }
        if let userInfo = url?.userInfo { values += BasicCredentials.secretValues(PercentEncoding.decode(userInfo)) }
        values += (url?.queryItems().items ?? []).flatMap { $0.secretValues(rules) }
        if let body {
            let isForm = RequestBody.bytes(body).isForm(as: headers[.contentType])
            values +=
                isForm
                ? QueryItem.items(of: Array(body)).flatMap { $0.secretValues(rules) }
                : (try? JSONValue.read(Array(body)))?.secretValues(rules) ?? []
        }
        self.init(values)
    }
}

extension HTTPField {
    /// The values of a field that is a credential: the whole, the part after the scheme, the password, the cookies.
    fileprivate var secretValues: [String] {
        let text = byteText
        guard name != .cookie else {
            return text.split(separator: ";").compactMap { cookie in
                cookie.firstIndex(of: "=").map { cookie[$0...].dropFirst().trimmingCharacters(in: .whitespaces) }
            }
        }
        guard let blank = text.firstIndex(of: " ") else { return [text] }
        let token = text[blank...].trimmingCharacters(in: .whitespaces)
        let pair = text[..<blank].lowercased() == "basic" ? Data(base64Encoded: token) : nil
        return [text, token] + (pair.map { BasicCredentials.secretValues(Array($0)) } ?? [])
    }
}

extension BasicCredentials {
    /// - Parameter pair: `user:password`.
    fileprivate static func secretValues(_ pair: [UInt8]) -> [String] {
        let password = pair.drop { $0 != UInt8(ascii: ":") }.dropFirst()
        return [String(decoding: pair, as: UTF8.self), String(decoding: password, as: UTF8.self)]
    }
}

extension QueryItem {
    /// The value of a secret item, as it is written and decoded, or the secret members of a value in JSON.
    fileprivate func secretValues(_ rules: KeyRules) -> [String] {
        guard rules.isSecret(self) else { return [] }
        let decoded = PercentEncoding.decode(Array(value).map { $0 == UInt8(ascii: "+") ? 0x20 : $0 })
        let members = (try? JSONValue.read(decoded))?.secretValues(rules) ?? []
        return [String(decoding: value, as: UTF8.self), String(decoding: decoded, as: UTF8.self)] + members
    }
}

extension JSONValue {
    /// The texts and numbers of the members with the names of credentials, at any depth.
    fileprivate func secretValues(_ rules: KeyRules, isSecret: Bool = false) -> [String] {
        switch self {
        case .string(let text): isSecret ? [text] : []
        case .integer(let number): isSecret ? [String(number)] : []
        case .fragment(let part): isSecret || part.fault != nil ? [part.text] : []
        case .array(let values): values.flatMap { $0.secretValues(rules, isSecret: isSecret) }
        case .object(let members):
            members.flatMap { $0.value.secretValues(rules, isSecret: isSecret || rules.isSecret($0.key)) }
        case .null, .bool, .number: []
        }
    }
}
