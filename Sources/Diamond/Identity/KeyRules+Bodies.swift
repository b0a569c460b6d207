/// The parts of a body that are secret by their names, for code that shows requests, or keeps them.
extension KeyRules {
    /// Whether an item of a query or a form holds a secret: a name without a value holds none.
    package func isSecret(_ item: QueryItem) -> Bool {
        item.hasValue && (isSecret(parameter: item.name.span) || isSecret(value: item.value.span))
    }

    /// Whether a parameter's value is JSON with a secret member in it, whatever the parameter's own name.
    ///
    /// - Parameter value: percent-encoded.
    @inline(__always)
    func isSecret(value: Span<UInt8>) -> Bool {
        guard !value.isEmpty else { return false }
        // Bare as well: a form's bytes may be anybody's.
        switch Unicode.Scalar(value[0]) {
        case "%", "{", "[": return hasSecretMember(value.array(value.indices))
        default: return false
        }
    }

    @inline(never)
    private func hasSecretMember(_ value: [UInt8]) -> Bool {
        hasSecretMember(PercentEncoding.decode(value), nil, guesses: false)
    }

    /// Whether a part holds a secret. Of files only the paths are shown and kept.
    ///
    /// - Parameter guesses: as below.
    package func isSecret(_ part: MultipartPart, guesses: Bool = true) -> Bool {
        guard case .bytes(let data) = part.content else { return false }
        let name = PercentEncoding.encode(part.name.utf8)
        return isSecret(parameter: name.span) || hasSecretMember(Array(data), part.contentType, guesses: guesses)
    }

    /// Whether a body that is whole in memory has a secret member, whatever its type says.
    ///
    /// - Parameters:
    ///   - bytes: the body's.
    ///   - guesses: whether any text may be a member's name where it begins as JSON does, and cannot be read, and not only
    ///     what a colon follows: a text may be hidden for nothing, but not refused.
    package func hasSecretMember(_ body: RequestBody, _ bytes: [UInt8], _ type: String?, guesses: Bool = true) -> Bool {
        if let value = body.jsonValue { return value.hasSecretMember(self) }
        return hasSecretMember(bytes, type, guesses: guesses)
    }

    private func hasSecretMember(_ bytes: [UInt8], _ type: String?, guesses: Bool) -> Bool {
        let isObject = bytes.first { !" \t\r\n".utf8.contains($0) }.map("{[".utf8.contains) == true
        guard isObject || type?.lowercased().contains("json") == true else { return false }
        if let value = try? JSONValue.read(bytes) { return value.hasSecretMember(self) }
        let texts = bytes.split(separator: UInt8(ascii: "\""))
        guard !guesses else { return texts.contains { isSecret(String(decoding: $0, as: UTF8.self)) } }
        // A name is what a colon follows.
        return zip(texts, texts.dropFirst()).contains { text, next in
            next.first { !" \t\r\n".utf8.contains($0) } == UInt8(ascii: ":")
                && isSecret(String(decoding: text, as: UTF8.self))
        }
    }
}

extension RequestBody {
    /// Whether it is read as a form.
    ///
    /// - Parameter type: the `Content-Type` that it is sent under.
    package func isForm(as type: String?) -> Bool {
        if case .form = self { return true }
        return type?.lowercased().hasPrefix("application/x-www-form-urlencoded") == true
    }
}
