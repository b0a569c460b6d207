package import Foundation
package import HTTPTypes

/// Masks the parts of a message that have secret names.
package enum Masking {
    package static func headers(_ headers: HTTPFields) -> HTTPFields {
        var masked: HTTPFields = [:]
        for var field in headers {
            field.value = SecretNames.masked(field)
            masked.append(field)
        }
        return masked
    }

    /// Masks a response's body and headers, and updates `Content-Length`. A response to HEAD keeps its
    /// `Content-Length`.
    package static func response(body: Data, headers: HTTPFields) -> (body: Data, headers: HTTPFields) {
        let shown = self.body(body, headers: headers)
        var masked = self.headers(headers)
        if shown.count != body.count, masked[.contentLength] != nil { masked[.contentLength] = "\(shown.count)" }
        return (shown, masked)
    }

    /// Masks a form or JSON text. Other bytes are masked like JSON, which changes only parts that look like JSON.
    ///
    /// It reads UTF-8, UTF-16, and each charset that has the bytes of ASCII. It does not read UTF-32, as no browser does.
    package static func body(_ data: Data, headers: HTTPFields) -> Data {
        let type = headers[.contentType]?.lowercased() ?? ""
        let isForm = type.hasPrefix("application/x-www-form-urlencoded")
        return body(data) { isForm ? form($0) : JSONMasking.masked($0) }
    }

    /// Masks a body of unknown type: as JSON if it starts like JSON, otherwise as a form.
    package static func body(_ data: Data) -> Data {
        let json = /^\u{FEFF}?\s*[{\["]/.matchingSemantics(.unicodeScalar)
        return body(data) { $0.firstMatch(of: json) == nil ? form($0) : JSONMasking.masked($0) }
    }

    private static func body(_ data: Data, masked: (String) -> String) -> Data {
        if let isBigEndian = Charset.isBigEndianUTF16(data),
            let text = Charset.utf16(isBigEndian: isBigEndian).text(of: data)
        {
            return Charset.data(utf16: masked(text), isBigEndian: isBigEndian)
        }
        if let text = String(validating: data, as: UTF8.self) { return Data(masked(text).utf8) }
        // Another charset: the names and delimiters to find are ASCII, and every other byte is preserved.
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
            return SecretNames.contains(item: text) ? "\(String(item.prefix { $0 != "=" }))=\(FieldSecrets.mask)" : text
        }.joined(separator: "&")
    }
}
