#if Curl && canImport(CDiamondCurl)
import CDiamondCurl
import Foundation

/// An easy handle of libcurl with what never changes set, and the callbacks that lead back to its transfer.
enum CurlHandle {
    static func make() -> UnsafeMutableRawPointer? {
        guard let easy = curl_easy_init() else { return nil }
        diamond_curl_set_long(easy, CURLOPT_NOSIGNAL, 1)
        diamond_curl_set_long(easy, CURLOPT_FOLLOWLOCATION, 0)
        diamond_curl_set_long(easy, CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
        diamond_curl_set_long(easy, CURLOPT_PATH_AS_IS, 1)
        diamond_curl_set_long(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        diamond_curl_only_http(easy)
        diamond_curl_quick_exit(easy)
        diamond_curl_set_data_callback(easy, CURLOPT_HEADERFUNCTION, receiveHeader)
        diamond_curl_set_data_callback(easy, CURLOPT_WRITEFUNCTION, receiveBody)
        diamond_curl_set_data_callback(easy, CURLOPT_READFUNCTION, sendBody)
        diamond_curl_set_seek_callback(easy, rewindBody)
        diamond_curl_set_begin_callback(easy, begin)
        return easy
    }

    private static func transfer(_ context: UnsafeMutableRawPointer?) -> CurlTransfer? {
        context.map { Unmanaged<CurlTransfer>.fromOpaque($0).takeUnretainedValue() }
    }

    private static let begin: diamond_curl_begin_callback = { context, _, _, _, _ in
        CurlHandle.transfer(context)?.mayBegin() == true ? 0 : 1
    }

    private static let receiveHeader: diamond_curl_data_callback = { bytes, size, count, context in
        guard let transfer = CurlHandle.transfer(context) else { return 0 }
        let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
        return transfer.receiveHeader(line) ? line.count : 0
    }

    private static let receiveBody: diamond_curl_data_callback = { bytes, size, count, context in
        guard let transfer = CurlHandle.transfer(context) else { return 0 }
        return transfer.receiveBody(UnsafeRawBufferPointer(start: bytes, count: size * count))
    }

    private static let sendBody: diamond_curl_data_callback = { bytes, size, count, context in
        guard let transfer = CurlHandle.transfer(context) else { return diamond_curl_abort_reading }
        return transfer.sendBody(UnsafeMutableRawBufferPointer(start: bytes, count: size * count))
    }

    private static let rewindBody: diamond_curl_seek_callback = { context, offset, origin in
        guard origin == SEEK_SET, let transfer = CurlHandle.transfer(context) else { return CURL_SEEKFUNC_CANTSEEK }
        return transfer.rewindBody(to: Int(offset)) ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_CANTSEEK
    }
}
#endif
