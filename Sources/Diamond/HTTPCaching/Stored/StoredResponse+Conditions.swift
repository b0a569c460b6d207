import Foundation
import HTTPTypes

extension RequestConditions {
    /// Returns the form in which a stored response answers the request.
    func form(of stored: StoredResponse, now: WallTime) -> Form {
        form(
            ofStored: stored.status, stored.headers, length: stored.bodySize, receivedAt: stored.storedAt, now: now)
    }
}

extension RequestConditions.Form {
    /// Whether the response is a success, whose body goes into a sink.
    ///
    /// - Parameter status: the stored status.
    func isSuccess(ofStored status: Int) -> Bool {
        switch self {
        case .whole, .partial: (200..<300).contains(status)
        case .notModified, .unsatisfiable: false
        }
    }

    /// The bytes of the body that the response has; `nil` for all of them.
    var bytes: Range<Int>? {
        switch self {
        case .whole: nil
        case .partial(let bytes): bytes
        case .notModified, .unsatisfiable: 0..<0
        }
    }
}

extension StoredResponse {
    /// Returns the response for the caller, in the form that its conditions ask for.
    func response(
        in form: RequestConditions.Form,
        from source: Response.Source,
        at now: WallTime,
        url: String,
        isHead: Bool = false
    ) -> Response {
        var response = response(from: source, at: now, url: url, isHead: isHead)
        switch form {
        case .whole: break
        case .notModified:
            response.status = .notModified
            response.headers = response.headers.ofNotModified
        case .partial(let bytes):
            response.status = .partialContent
            response.headers[.contentRange] = "bytes \(bytes.lowerBound)-\(bytes.upperBound - 1)/\(bodySize)"
            response.headers[.contentLength] = String(bytes.count)
        case .unsatisfiable:
            response.status = .rangeNotSatisfiable
            response.headers = response.headers.ofUnsatisfiable(length: bodySize)
        }
        if let bytes = form.bytes {
            response.body = Data(response.body.dropFirst(bytes.lowerBound).prefix(bytes.count))
        }
        return response
    }
}

extension HTTPFields {
    /// Returns the fields of a 416 for a stored response (RFC 9110 section 15.5.17).
    fileprivate func ofUnsatisfiable(length: Int) -> HTTPFields {
        var fields = filter { $0.name == .date || $0.name == .vary }
        fields.append(HTTPField(name: .contentRange, value: "bytes */\(length)"))
        fields.append(HTTPField(name: .contentLength, value: "0"))
        return fields
    }
}
