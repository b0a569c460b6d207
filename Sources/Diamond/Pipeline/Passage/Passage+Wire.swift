import Foundation
import HTTPTypes

extension Passage {
    /// What goes on the wire, with the stored response's validators where there are some (RFC 9111 section 4.3.1).
    ///
    /// - Parameter wire: the request with its secrets filled in.
    func transportRequest(
        _ wire: WireRequest,
        validators stored: StoredResponse?
    ) throws(ConnectionError) -> TransportRequest {
        var items = wire.parameterItems
        items.append(contentsOf: wire.filledItems)
        let url = wire.url.text(adding: items)
        var request = TransportRequest(method: wire.method, url: url, headers: wire.headers, timeout: timeout)
        // So that the rest can be asked for where it breaks: ranges count coded bytes. What is stored is the same without.
        if asker.sink?.isContinuable == true, request.headers[.acceptEncoding] == nil {
            request.headers[.acceptEncoding] = "identity"
        }
        if let stored {
            let headers = stored.headers
            if let tag = headers.validator(.eTag) { request.headers[.ifNoneMatch] = tag }
            if let date = headers.validator(.lastModified) { request.headers[.ifModifiedSince] = date }
        }
        if let upload = asker.upload { request.body = upload.body }
        do throws(RequestError) {
            if let body = wire.body { try request.carry(body, wire.encoding, files) }
        } catch {
            throw ConnectionError(error)
        }
        return request
    }
}

extension TransportRequest {
    /// Takes a body: whole where it is in memory, else in pieces, which can be made again for every attempt.
    ///
    /// - Parameter files: those that the request's identity tells of: an answer to others would be stored under it.
    fileprivate mutating func carry(
        _ body: RequestBody,
        _ encoding: ParameterEncoding,
        _ files: [FileLook]
    ) throws(RequestError) {
        let boundary = RequestBody.randomBoundary()
        let segments = try body.segments(encoding, boundary: boundary)
        if let file = files.first(where: { !segments.contains(.file($0)) }) { throw .changed(file.path) }
        if case .multipart = body { headers[.contentType] = "multipart/form-data; boundary=\(boundary)" }
        if segments.count == 1, case .bytes(let data) = segments[0] {
            self.body = .bytes(data)
        } else {
            let length = segments.reduce(0) { $0 + $1.length }
            self.body = .stream(length: length) { BodyPieces(segments: segments) }
        }
    }
}
