import HTTPTypes

extension HTTPResponse.Status {
    /// Whether it leads to another URL (RFC 9110 section 15.4): 300 and 304 do not.
    var isRedirect: Bool { [301, 302, 303, 307, 308].contains(code) }

    /// Whether the head of an answer decides what a kept request has come to, whatever becomes of its body.
    ///
    /// Not that of a redirect: what it leads to was not asked. Not that of a safe request's success: such a request is sent
    /// for what is in the body, and does no harm a second time.
    func decides(_ method: HTTPRequest.Method) -> Bool { !isRedirect && !(method.isSafe && code < 400) }
}
