/** Reads and writes messages of the Debug Adapter Protocol: a header with the length, then JSON. */

export interface Message {
  seq: number;
  type: 'request' | 'response' | 'event';
  command?: string;
  event?: string;
  arguments?: unknown;
  body?: unknown;
  request_seq?: number;
  success?: boolean;
  message?: string;
}

const SEPARATOR = '\r\n\r\n';

/** Returns the bytes of a message. */
export function encode(message: Message): Buffer {
  const body = Buffer.from(JSON.stringify(message), 'utf8');
  return Buffer.concat([Buffer.from(`Content-Length: ${body.length}${SEPARATOR}`, 'ascii'), body]);
}

/** Collects bytes until messages are complete. */
export class Decoder {
  private chunks: Buffer[] = [];
  private size = 0;
  /** The number of bytes in the next body, or 0 while a header is read. */
  private length = 0;

  /** Adds bytes, and returns the messages that they complete. */
  push(chunk: Buffer): Message[] {
    this.chunks.push(chunk);
    this.size += chunk.length;
    const messages: Message[] = [];
    // A large body arrives in many chunks. They are joined only when it is complete.
    while (this.size > 0 && this.size >= this.length) {
      const bytes = this.chunks.length === 1 ? this.chunks[0]! : Buffer.concat(this.chunks);
      this.chunks = [bytes];
      if (this.length === 0) {
        const end = bytes.indexOf(SEPARATOR);
        if (end < 0) {
          break;
        }
        const found = /Content-Length: *(\d+)/i.exec(bytes.toString('ascii', 0, end));
        this.rest(bytes.subarray(end + SEPARATOR.length));
        this.length = Number(found?.[1] ?? 0);
        continue;
      }
      const body = bytes.toString('utf8', 0, this.length);
      this.rest(bytes.subarray(this.length));
      this.length = 0;
      messages.push(JSON.parse(body) as Message);
    }
    return messages;
  }

  private rest(bytes: Buffer): void {
    this.chunks = bytes.length > 0 ? [bytes] : [];
    this.size = bytes.length;
  }
}
