      *> A tier in EBCDIC and a packed amount of 9 bytes come in, the
      *> same go out: GOLD pays a tenth less.
       IDENTIFICATION DIVISION.
       PROGRAM-ID. DISCOUNT.
       ENVIRONMENT DIVISION.
       INPUT-OUTPUT SECTION.
       FILE-CONTROL.
           SELECT ORDERS ASSIGN TO "/dev/stdin"
               ORGANIZATION IS SEQUENTIAL.
           SELECT PRICES ASSIGN TO "/dev/stdout"
               ORGANIZATION IS SEQUENTIAL.
       DATA DIVISION.
       FILE SECTION.
       FD  ORDERS.
       01  ORDER-LINE.
           05  TIER               PIC X(4).
           05  AMOUNT             PIC S9(7)V99 COMP-3.
       FD  PRICES.
       01  PRICE-LINE             PIC X(9).
       WORKING-STORAGE SECTION.
       01  GOLD                   PIC X(4) VALUE X"C7D6D3C4".
       01  NO-MORE                PIC X VALUE "N".
       PROCEDURE DIVISION.
       MAIN-LINE.
           OPEN INPUT ORDERS OUTPUT PRICES
           PERFORM UNTIL NO-MORE = "Y"
               READ ORDERS
                   AT END MOVE "Y" TO NO-MORE
                   NOT AT END PERFORM ANSWER
               END-READ
           END-PERFORM
           CLOSE ORDERS PRICES
           STOP RUN.
       ANSWER.
           IF TIER = GOLD
               COMPUTE AMOUNT ROUNDED = AMOUNT * 0.9
           END-IF
           WRITE PRICE-LINE FROM ORDER-LINE.
