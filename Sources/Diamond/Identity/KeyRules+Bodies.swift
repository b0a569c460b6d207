/// The secret parts of a body, for code that shows or stores requests.
extension KeyRules {
    /// Whether an item of a query or a form is secret. A name without a value is not.
    package func isSecret(_ item: QueryItem) -> Bool {
        item.hasValue && (isSecret(parameter: item.name.span) || isSecret(value: item.value.span))
    }

    /// Whether a parameter's value is JSON with a secret member, whatever the parameter's name.
    ///
    /// - Parameter value: the percent-encoded value.
    @inline(__always)
    func isSecret(value: Span<UInt8>) -> Bool {
        guard !value.isEmpty else { return false }
        // Unencoded brackets count too, because a form's bytes may come from elsewhere.
        switch Unicode.Scalar(value[0]) {
        case "%", "{", "[": return hasSecretMember(value.array(value.indices))
        default: return false
        }
    }

    @inline(never)
    private func hasSecretMember(_ value: [UInt8]) -> Bool {
        hasSecretMember(PercentEncoding.decode(value), type: nil, guesses: false)
    }

    /// Whether a part contains a secret. Files do not, because only their paths are shown and stored.
    ///
    /// - Parameter guesses: see ``hasSecretMember(_:bytes:type:guesses:)``.
    package func isSecret(_ part: MultipartPart, guesses: Bool = true) -> Bool {
        guard case .bytes(let data) = part.content else { return false }
        let name = PercentEncoding.encode(part.name.utf8)
        return isSecret(parameter: name.span) || hasSecretMember(Array(data), type: part.contentType, guesses: guesses)
    }

    /// Whether a body in memory has a secret member, whatever its content type.
    ///
    /// - Parameters:
    ///   - bytes: the bytes of the body.
    ///   - type: the `Content-Type`.
    ///   - guesses: whether every string of malformed JSON counts as a member's name, and not only strings before a
    ///     colon. Set it to hide text, where a false match does no harm; clear it to refuse text.
    package func hasSecretMember(
        _ body: RequestBody,
        bytes: [UInt8],
        type: String?,
        guesses: Bool = true
    ) -> Bool {
        if let value = body.jsonValue { return value.hasSecretMember(self) }
        return hasSecretMember(bytes, type: type, guesses: guesses)
    }

    /// Whether JSON text has a secret member.
    func hasSecretMember(json text: String) -> Bool {
        hasSecretMember(Array(text.utf8), type: "application/json", guesses: false)
    }

    private func hasSecretMember(_ bytes: [UInt8], type: String?, guesses: Bool) -> Bool {
        let isObject = bytes.first { !" \t\r\n".utf8.contains($0) }.map("{[".utf8.contains) == true
        guard isObject || type?.lowercased().contains("json") == true else { return false }
        if let value = try? JSONValue.read(bytes) { return value.hasSecretMember(self) }
        let texts = bytes.split(separator: UInt8(ascii: "\""))
        guard !guesses else { return texts.contains { isSecret(String(decoding: $0, as: UTF8.self)) } }
        // A string before a colon is a name.
        return zip(texts, texts.dropFirst()).contains { text, next in
            next.first { !" \t\r\n".utf8.contains($0) } == UInt8(ascii: ":")
                && isSecret(String(decoding: text, as: UTF8.self))
        }
    }
}

extension RequestBody {
    /// Whether the body is a form.
    ///
    /// - Parameter type: the `Content-Type` of the request.
    package func isForm(as type: String?) -> Bool {
        if case .form = self { return true }
        return type?.lowercased().hasPrefix("application/x-www-form-urlencoded") == true
    }
}
